import { LEAVE_RUNNING, type CallOutcome, type OutgoingCall } from '../../core/ports/connection.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import { whenAborted, type StopSignal } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { ErrorResponse } from '../peer/errors.ts';
import { readServerTask, ProtocolViolation } from '../server-task.ts';
import { followServerTask } from './follow-server-task.ts';
import { failure, ServerUnavailable, retryThroughDisconnects, type Attempt, type CallChannel } from './channel.ts';
import type { RunningCall } from './running-calls.ts';
import { answerRound, isInputRequired, MAX_ROUNDS, tooManyRounds, type AnsweredRound } from './mrtr.ts';
import { betweenRounds, type CallResumePoint, type InputRequired } from './resume-point.ts';

type Reply = Record<string, unknown>;

const STOPPED = 'the gateway was stopped before the server answered';
/** How long a server has to name the task of a call that is already unwanted, so that the task can be cancelled. */
const CREATION_GRACE_MS = 2000;
/** The same if the server may also answer without a task; such a call is stopped only after this time. */
const POSSIBLE_GRACE_MS = 1000;
/** How long a round whose answers are being sent may still take at shutdown. */
const ANSWERS_GRACE_MS = 1200;

/**
 * Runs one tool call to its end. Servers respond in four ways: with the result, possibly asking questions before; with
 * `input_required`, expecting the call again with the answers; or with a task of either generation.
 */
export async function runCall(channel: CallChannel, live: RunningCall, from?: InputRequired): Promise<CallOutcome> {
  const { call } = live;
  try {
    let asked = from;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const reply = asked === undefined ? await sendFirst(channel, live) : await sendAnswers(channel, live, asked);
      // A plain result may have a field of that name, too.
      const task = live.native && !('content' in reply) ? reply['task'] : extensionTask(reply);
      if (task !== undefined) {
        const { taskId } = readServerTask(task, 'tools/call');
        return await followServerTask(channel, live, { taskId }, task as Record<string, unknown>);
      }
      if (!isInputRequired(reply)) return resultOf(reply);
      asked = reply;
    }
    throw tooManyRounds();
  } catch (error) {
    return failureOf(call, error);
  }
}

function failureOf({ signal }: OutgoingCall, error: unknown): CallOutcome {
  if (!signal.aborted) return failure(error);
  if (signal.reason !== LEAVE_RUNNING) return { kind: 'error', error: { code: -32000, message: 'cancelled' } };
  // A reply that arrived before the shutdown still counts.
  return error instanceof ErrorResponse ? failure(error) : { kind: 'lost', reason: STOPPED };
}

/** Avoids awaits: the fast path of a plain call on a live connection. */
function sendFirst(channel: CallChannel, live: RunningCall): Promise<Reply> {
  const first = firstAttempt(channel, live.call);
  return first instanceof Promise
    ? first.then((chosen) => sendOn(chosen, channel, live))
    : sendOn(first, channel, live);
}

function sendOn({ attempt, asTask }: FirstAttempt, channel: CallChannel, live: RunningCall): Promise<Reply> {
  const { call } = live;
  live.native = asTask;
  const onRecord = call.listener.onSending?.();
  return onRecord === undefined
    ? sendPrepared(attempt, channel, live)
    : onRecord.then(() => sendPrepared(attempt, channel, live));
}

function sendPrepared(attempt: Attempt, channel: CallChannel, live: RunningCall): Promise<Reply> {
  const params = paramsOf(attempt, live);
  return live.native
    ? sendAsTask(attempt, channel, live.call, params)
    : sendWithGrace(attempt, live.call, params, 'first');
}

function sendAsTask(
  attempt: Attempt,
  { clock }: CallChannel,
  { id: callId, signal: wanted }: OutgoingCall,
  params: Record<string, unknown>,
): Promise<Reply> {
  const send = (signal: AbortSignal): Promise<Reply> => attempt.request('tools/call', params, { callId, signal });
  return withGrace(clock, wanted, () => CREATION_GRACE_MS, send);
}

/** Asks the questions of a round, and sends the call again with the answers. */
async function sendAnswers(channel: CallChannel, live: RunningCall, round: InputRequired): Promise<Reply> {
  const { call } = live;
  const { params, taken, checkpoint } = await answersTo(round, channel, live);
  const send = async (): Promise<Reply> => {
    const attempt = await channel.attempt();
    return sendOnce(attempt, call, { ...paramsOf(attempt, live), ...params }, checkpoint);
  };
  try {
    // The server may be disconnected; but a request that may have arrived is not sent twice.
    const reply = await retryThroughDisconnects(channel, call.signal, send, ['unreachable']);
    taken.abort();
    return reply;
  } catch (error) {
    // After a shutdown, the next process sends the answers; after a sign-in, the next attempt.
    if (call.signal.reason !== LEAVE_RUNNING && signInIn(error) === undefined) taken.abort();
    throw error;
  }
}

/** Between two rounds the server keeps no state of the call; all of it is here. */
async function answersTo(
  round: InputRequired,
  channel: CallChannel,
  live: RunningCall,
): Promise<AnsweredRound & { checkpoint: CallResumePoint }> {
  const { inputRequests, requestState } = round;
  const checkpoint = betweenRounds({ resultType: 'input_required', inputRequests, requestState });
  live.away = true;
  try {
    await live.call.listener.onCheckpoint(checkpoint);
    return { ...(await answerRound(round, live.call, channel)), checkpoint };
  } finally {
    live.away = false;
  }
}

/** Removes the checkpoint before sending, because the server may then have the call; restores it if the call was not sent. */
async function sendOnce(
  attempt: Attempt,
  call: OutgoingCall,
  params: Record<string, unknown>,
  checkpoint: CallResumePoint,
): Promise<Reply> {
  call.signal.throwIfAborted();
  await call.listener.onCheckpoint(undefined);
  try {
    if (call.signal.aborted) throw new ServerUnavailable('unreachable', STOPPED);
    return await sendWithGrace(attempt, call, params, 'answers');
  } catch (error) {
    const unsent = error instanceof ServerUnavailable && error.kind === 'unreachable';
    if (unsent || signInIn(error) !== undefined) await call.listener.onCheckpoint(checkpoint);
    throw error;
  }
}

interface FirstAttempt {
  attempt: Attempt;
  /** Whether to ask for a task. */
  asTask: boolean;
}

function firstAttempt(channel: CallChannel, call: OutgoingCall): Promise<FirstAttempt> | FirstAttempt {
  const attempt = channel.attempt();
  return attempt instanceof Promise || offersTasks(attempt)
    ? chosenAttempt(channel, call, attempt)
    : { attempt, asTask: false };
}

/** With the extension, the server decides. */
const offersTasks = ({ offer }: Attempt): boolean => offer?.generation === 'core';

/** Decides on the connection that will send the call whether to ask for a task. */
async function chosenAttempt(
  channel: CallChannel,
  call: OutgoingCall,
  first: Promise<Attempt> | Attempt,
): Promise<FirstAttempt> {
  for (let next = first; ; next = channel.attempt()) {
    const attempt = await next;
    if (!offersTasks(attempt)) return { attempt, asTask: false };
    const asTask = await wantsTask(attempt, call);
    // Reading the list of tools takes time, in which another connection may have replaced this one.
    if (attempt.isCurrent) return { attempt, asTask };
  }
}

/** Whether to ask for a task. */
async function wantsTask(attempt: Attempt, call: OutgoingCall): Promise<boolean> {
  // A server that does not list its tools may still have them.
  const support = await attempt.taskSupport(call.tool, call.signal).catch((error: unknown) => {
    // The core treats an unsent call as ended: it must not be sent afterwards.
    if (error instanceof ServerUnavailable) throw error;
    return 'forbidden';
  });
  call.signal.throwIfAborted();
  return support === 'required' || (support === 'optional' && call.tasks === 'use');
}

function paramsOf(attempt: Attempt, { call, native: asTask }: RunningCall): Record<string, unknown> {
  // V8 takes long to add fields after those of a spread (docs/PERFORMANCE.md). `more` has none of these.
  const meta: Record<string, unknown> = { progressToken: call.id, ...attempt.callMeta(call.tasks), ...call.meta };
  meta['progressToken'] = call.id;
  const params: Record<string, unknown> = call.bare
    ? { name: call.tool, _meta: meta, ...call.more }
    : { name: call.tool, arguments: call.args, _meta: meta, ...call.more };
  if (asTask) params['task'] = call.taskTtlMs === undefined ? {} : { ttl: call.taskTtlMs };
  return params;
}

/** If the server may answer with a task, or is being sent answers, an aborted call waits briefly for the response. */
function sendWithGrace(
  attempt: Attempt,
  call: OutgoingCall,
  params: Record<string, unknown>,
  what: 'first' | 'answers',
): Promise<Reply> {
  const { id: callId, signal: wanted } = call;
  const mayBeTask = attempt.offer?.generation === 'extension';
  if (!mayBeTask && what === 'first') {
    return attempt.request('tools/call', params, { callId, signal: wanted, mayAsk: true });
  }
  const graceMs = (): number => {
    if (what === 'answers' && wanted.reason === LEAVE_RUNNING) return ANSWERS_GRACE_MS;
    return mayBeTask ? POSSIBLE_GRACE_MS : 0;
  };
  return withGrace(attempt.clock, wanted, graceMs, (signal) =>
    attempt.request('tools/call', params, { callId, signal, mayAsk: true }),
  );
}

/**
 * Lets a request continue for a while after its call was aborted. A cancellation that comes before the server has named its
 * task waits for the id: tasks are cancelled by id, and without it the task would run to its end.
 */
async function withGrace<T>(
  clock: Clock,
  signal: StopSignal,
  graceMs: () => number,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const given = new AbortController();
  let stopGrace = (): void => {};
  const forget = whenAborted(signal, () => {
    const reason: unknown = signal.reason === LEAVE_RUNNING ? new Error(STOPPED) : signal.reason;
    const ms = graceMs();
    if (ms === 0) given.abort(reason);
    else stopGrace = clock.after(ms, () => given.abort(reason));
  });
  try {
    return await send(given.signal);
  } finally {
    stopGrace();
    forget();
  }
}

/** A task of the extension instead of a result. */
function extensionTask(reply: Reply): Reply | undefined {
  if (reply['resultType'] !== 'task') return undefined;
  const { resultType: _resultType, _meta, ...task } = reply;
  return task;
}

/** A task that was not asked for is not a result. */
function resultOf(reply: Record<string, unknown>): CallOutcome {
  if ('task' in reply && !('content' in reply)) {
    throw new ProtocolViolation('the server answered with a task, although the request asked for the result');
  }
  return { kind: 'result', result: reply };
}
