/** No task that somebody was told of is missing, none has two outcomes, and each ended as it may end. */
import { kindOf, type CallKind } from '../calls.ts';
import type { Exchange, LoadCall } from '../history.ts';
import { whatItSays, type Seen } from '../servers.ts';
import { object } from '../told.ts';
import { ENDS_CALLS, MOVES, OF_THE_DATABASE, type Faults } from './faults.ts';
import { groupBy } from './group.ts';
import { firstTold, hasEnded, nameOf, type Answered, type QuestionStory, type TaskStory } from './stories.ts';

const RESTARTED = /gateway restarted|the gateway is shutting down/;

/** A call that was answered at once has its own result. */
export function checkCalls(answered: readonly Answered[], faults: Faults): string[] {
  return answered.flatMap(({ client, call, told, sent, received, failed }) => {
    if (call === undefined || 'proxy_task' in told.body || failed !== undefined) return [];
    const name = `${client}: ${call.server}.${call.tool} ${call.label}`;
    const couldNotBeStored = told.isError && told.text.includes('TOOL_ERR_STORE');
    if (couldNotBeStored && faults.between(sent, received, [...OF_THE_DATABASE, ...MOVES])) return [];
    // A gateway that stops waits for calls that no other one could go on with, unless they wait for an answer themselves.
    const isWaitedFor =
      (call.server === 'plain' || call.server === 'child') && kindOf(call.server, call.tool)?.questions === 0;
    const wasStopped = told.isError && told.text.includes('TOOL_ERR_SHUTTING_DOWN') && !isWaitedFor;
    if (wasStopped && faults.between(sent, received, ['stop'])) return [];
    if (told.isError) return [`${name} failed: ${told.text}`];
    const right = call.tool === 'notify' ? told.text.startsWith('sent ') : told.text === call.label;
    return right ? [] : [`${name} got ${told.text}`];
  });
}

export function checkTasks(tasks: readonly TaskStory[]): string[] {
  return tasks.flatMap((task) => {
    const { states, results, isThereInTheEnd } = task;
    const ends = states.filter(({ status }) => hasEnded(status));
    const outcomes = new Set(ends.map(({ status }) => status));
    const reasons = new Set(ends.flatMap(({ error = [] }) => error));
    const [first] = ends;
    const back = states.find(({ status, sent }) => first && !hasEnded(status) && sent > first.received);
    const wrong = [
      !isThereInTheEnd && 'is missing in the end',
      first === undefined && 'has not ended',
      outcomes.size > 1 && `has several outcomes: ${[...outcomes].join(', ')}`,
      reasons.size > 1 && `has several reasons: ${[...reasons].join(' | ')}`,
      back && `had ended, and works again, says ${back.from}`,
      new Set(results).size > 1 && `has several results: ${results.join(' | ')}`,
      first?.status === 'completed' && results.length === 0 && 'has a result that could not be read',
    ];
    return wrong.filter((what) => typeof what === 'string').map((what) => `${nameOf(task)} ${what}`);
  });
}

/** A gateway fails to serve a request only when something was done to it, or to another that it needs. */
export function checkFailures(exchanges: readonly Exchange[], faults: Faults): string[] {
  return exchanges.flatMap(({ client, tool, sent, failed }) =>
    failed === undefined || faults.between(sent, failed.at)
      ? []
      : [`${client}: ${tool} failed without a reason to: ${failed.why}`],
  );
}

/** Each call that became a task ended with the true result, or for a reason that there was. */
export function checkOutcomes(
  tasks: readonly TaskStory[],
  questions: readonly QuestionStory[],
  faults: Faults,
  seen: Seen,
): string[] {
  const asked = groupBy(questions, ({ question }) => question.taskId);
  return tasks.flatMap((task) => {
    const { call, cancels, states, results } = task;
    const ended = states.find(({ status }) => hasEnded(status));
    const end = ended?.status;
    const kind = call && kindOf(call.server, call.tool);
    if (end === undefined || call === undefined || kind === undefined) return [];
    const name = nameOf(task);
    if (cancels.some(({ told }) => told?.body['success'] === true) && end !== 'cancelled') {
      return [`${name} was cancelled, and its client told so, but is ${end}`];
    }
    const asks = (asked.get(task.id) ?? []).toSorted((a, b) => firstTold(a) - firstTold(b));
    switch (end) {
      case 'completed':
        return checkResult(name, call, kind, asks, results[0]);
      case 'cancelled':
        return cancels.length > 0 ? [] : [`${name} was cancelled by nobody`];
      case 'failed': {
        const error = states.find((state) => state.error !== undefined)?.error ?? 'no reason';
        // The server has heard of a cancellation, or that nobody answers, from a gateway that was lost before it could tell.
        if (call.server === 'core' && error.includes('has no result stored')) return [];
        if (!RESTARTED.test(error)) return [`${name} failed for another reason than a restart: ${error}`];
        // Nobody can wait for an answer that may never come.
        const reasons = kind.questions > 0 ? MOVES : ENDS_CALLS;
        if (!faults.between(call.sent, ended?.received ?? Infinity, reasons))
          return [`${name} failed for a restart that was not: ${error}`];
        return mayEndWithARestart(kind, call, asks, seen) ? [] : [`${name} could have gone on, but failed: ${error}`];
      }
      default:
        return [`${name} is ${end}`];
    }
  });
}

/**
 * A task of the 2025-11-25 protocol asks with a request that it sends once. One that was on the way when the gateway was
 * killed is lost, and the server waits for the answer for ever; nobody can know. Any other task ends.
 */
export function checkStuck(
  tasks: readonly TaskStory[],
  questions: readonly QuestionStory[],
  stuck: ReadonlySet<string>,
): string[] {
  const asked = groupBy(questions, ({ question }) => question.taskId);
  return tasks
    .filter(({ id, server, tool }) => {
      const missing = (kindOf(server, tool)?.questions ?? 0) - (asked.get(id)?.length ?? 0);
      return stuck.has(id) && !(server === 'core' && missing > 0);
    })
    .map((task) => `${nameOf(task)} did not end`);
}

/**
 * Whether a restart may be the end of such a call. One that the server keeps goes on once the gateway has followed it; one
 * between two rounds goes on until its answer may be on the way.
 */
function mayEndWithARestart(
  { server, questions }: CallKind,
  { label }: LoadCall,
  asks: readonly QuestionStory[],
  { followed }: Seen,
): boolean {
  switch (server) {
    case 'plain':
    case 'child':
      return true;
    case 'rounds':
      return (asks.at(-1)?.attempts.length ?? 1) > 0;
    case 'core':
    case 'ext':
      return questions === 0 ? !followed.has(`${server} ${label}`) : asks.length === 0;
  }
}

function checkResult(
  name: string,
  { label }: LoadCall,
  { questions }: CallKind,
  asks: readonly QuestionStory[],
  result: string | undefined,
): string[] {
  if (result === undefined) return [];
  if (questions === 0) return result === label ? [] : [`${name} got ${result}`];
  const attempts = asks.flatMap((ask) => ask.attempts);
  const unheard = attempts.filter((attempt) => attempt.acknowledged && !showsIn(result, attempt));
  if (unheard.length > 0 && result !== 'declined') {
    return [`${name} got ${result}, although it was answered with ${unheard.map(saidIn).join(', ')}`];
  }
  const somebody = attempts.length === 0 || attempts.some((attempt) => showsIn(result, attempt));
  return somebody ? [] : [`${name} got ${result}, which nobody has answered`];
}

function saidIn({ args }: Exchange): string {
  if (args['action'] === 'decline') return 'declined';
  const { age } = object(args['content']);
  return typeof age === 'number' ? String(age) : (whatItSays(args) ?? '');
}

function showsIn(result: string, attempt: Exchange): boolean {
  const said = saidIn(attempt);
  return said === 'declined' ? result === said : new RegExp(String.raw`(^|\W)${said}(\W|$)`).test(result);
}
