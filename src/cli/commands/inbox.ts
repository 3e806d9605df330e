/** Lists the open questions of a running gateway, and answers them. */

import { messageOf } from '../../lib/log.ts';
import { cleanLine } from '../../lib/clean.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { ApiFailure, type ApiClient } from '../gateway/api-client.ts';
import type { Question } from '../../lib/api-items.ts';
import { assertHistory, openGateway } from '../gateway/open-gateway.ts';
import { describeQuestionEnd, serverAndTool, subjectOf, waitOf } from '../gateway/words.ts';
import {
  askQuestion,
  elicitationBody,
  formOf,
  sampleBody,
  questionTitle,
  type AnswerBody,
} from '../inbox/ask-question.ts';
import { OpenQuestions } from '../inbox/open-questions.ts';
import { PreparedAnswers } from '../questions/prepared.ts';
import { elicitationUnanswered, sampleUnanswered } from '../questions/unanswered.ts';
import { Stop } from '../stop.ts';
import { Prompter, type Option } from '../terminal/prompter.ts';
import { Screen } from '../terminal/screen.ts';

interface Inbox {
  api: ApiClient;
  screen: Screen;
  stop: Stop;
}

const NOT_FOUND = 404;
const NONE = 'there are no open questions';

export async function inbox(line: CommandLine): Promise<number> {
  const { flags } = line;
  const id = questionIn(line);
  const answers = new PreparedAnswers(flags.answer);
  const gateway = await openGateway(line);
  assertHistory(gateway);
  const { api } = gateway;
  const stop = new Stop(undefined);
  const box: Inbox = { api, screen: new Screen(flags), stop };
  try {
    if (id !== undefined) return await answerOne(box, id, answers);
    if (flags.follow) return await (box.screen.attended && !box.screen.json ? answerAll(box, true) : printAll(box));
    return await (box.screen.attended && !box.screen.json ? answerAll(box, false) : list(box));
  } finally {
    stop.close();
  }
}

function questionIn({ operands, flags }: CommandLine): string | undefined {
  const [id, extra] = operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  if (id !== undefined && /^https?:/i.test(id))
    throw new UsageError(`give the address of the gateway with --url ${id}`);
  if (id !== undefined && flags.follow) throw new UsageError('--follow applies to all questions, not to a single one');
  if (flags.answer !== undefined && id === undefined) {
    throw new UsageError(`--answer applies to a single question: meanwhile inbox <id> --answer '…'`);
  }
  if ((flags.answer?.length ?? 0) > 1) throw new UsageError('only one --answer is allowed');
  return id;
}

// --- Without asking ---

async function list({ api, screen }: Inbox): Promise<number> {
  const { items } = await api.list<Question>('questions', { status: 'open' });
  screen.printList({ questions: items }, items.map(rowOf), NONE);
  return RESULT;
}

const rowOf = (question: Question): string[] => [
  cleanLine(question.id),
  serverAndTool(question),
  waitOf(question),
  subjectOf(question),
];

/** Every question, one on a line, until the command is stopped. */
async function printAll({ api, screen, stop }: Inbox): Promise<number> {
  const ending = endingOf(stop);
  const open = new OpenQuestions(api, ending);
  open.onAway = (reason) => reason !== '' && screen.note(reason);
  const printed = new Set<string>();
  await open.start();
  while (!ending.aborted) {
    for (const question of open.list.filter(({ id }) => !printed.has(id))) {
      printed.add(question.id);
      screen.printOwn(screen.json ? stringifyExact(question) : rowOf(question).join('  '));
    }
    await open.change();
  }
  return RESULT;
}

/** Aborted on Ctrl-C and on signals: stopping is not a failure. */
function endingOf(stop: Stop): AbortSignal {
  const controller = new AbortController();
  const end = (): void => controller.abort(new Failure('interrupted', 'interrupted'));
  stop.onInterrupt(end);
  stop.signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}

// --- One question ---

async function answerOne(box: Inbox, id: string, answers: PreparedAnswers): Promise<number> {
  const { api, screen, stop } = box;
  const question = await questionOf(api, id);
  const body = preparedBody(question, answers);
  if (body === undefined && screen.json) {
    screen.printJson(question);
    return RESULT;
  }
  if (question.status !== 'open') throw over(question);
  if (body !== undefined) return send(box, question, body);
  if (!screen.attended) throw unanswered(question);
  const ending = endingOf(stop);
  const open = new OpenQuestions(api, ending);
  await open.start();
  const asked = await askQuestion(api, new Prompter(), question, AbortSignal.any([open.ended(id), ending]));
  if (asked === 'interrupted') throw new Failure('interrupted', 'interrupted; the question stays open');
  return RESULT;
}

async function questionOf(api: ApiClient, id: string): Promise<Question> {
  try {
    return await api.get<Question>(`questions/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== NOT_FOUND) throw error;
    throw new Failure('refused', `${error.message}; meanwhile inbox lists the open questions`);
  }
}

/** The answer of `--answer`, if there is one. */
function preparedBody(question: Question, answers: PreparedAnswers): AnswerBody | undefined {
  if (question.kind === 'sampling') {
    const prepared = answers.forSample();
    if (prepared.kind === 'mistake') throw new Failure('usage', prepared.mistake);
    return prepared.kind === 'none' ? undefined : sampleBody(prepared.answer);
  }
  const prepared = answers.forElicitation(formOf(question));
  if (prepared.kind === 'mistake') throw new Failure('usage', prepared.mistake);
  return prepared.kind === 'none' ? undefined : elicitationBody(prepared.answer);
}

async function send({ api, screen }: Inbox, question: Question, body: AnswerBody): Promise<number> {
  const sent = await api.answer(question.id, body);
  if (sent.kind === 'late')
    throw sent.question === undefined ? new Failure('refused', sent.message) : over(sent.question);
  if (sent.kind === 'invalid') {
    const fields = Object.entries(sent.fields).map(([field, mistake]) => `\n  ${field}: ${mistake}`);
    throw new Failure('usage', `${sent.message}${fields.join('')}`, { fields: sent.fields });
  }
  if (screen.json) screen.printJson(sent.question);
  else screen.note(`${questionTitle(question)}\nanswered with --answer`);
  return RESULT;
}

const over = (question: Question): Failure =>
  new Failure('refused', `the question ${question.id} is ${describeQuestionEnd(question)}`, { question });

function unanswered(question: Question): Failure {
  const why = 'there is no terminal to ask on';
  const hint =
    question.kind === 'sampling'
      ? sampleUnanswered({ params: question.params ?? {} }, why)
      : elicitationUnanswered(formOf(question), why);
  return new Failure('unanswered', `${questionTitle(question)}\n${hint}`);
}

// --- One after the other, on a terminal ---

async function answerAll(box: Inbox, following: boolean): Promise<number> {
  const { api, screen, stop } = box;
  const ending = endingOf(stop);
  const open = new OpenQuestions(api, ending);
  open.onAway = (reason) => screen.live?.update({ trouble: reason === '' ? undefined : reason });
  const prompter = new Prompter();
  /** Questions that the person has answered, or does not want to answer now. */
  const seen: Seen = { done: new Set(), later: new Set() };
  await open.start();
  if (open.list.length === 0) screen.note(following ? `${NONE} at ${api.where}` : NONE);
  while (!ending.aborted) {
    const waiting = open.list.filter(({ id }) => !seen.done.has(id));
    if (waiting.every(({ id }) => seen.later.has(id))) {
      if (!following) return RESULT;
      screen.live?.show('waiting for questions');
      screen.live?.update({ message: 'Ctrl-C quits' });
      await open.change();
      screen.live?.hide();
      continue;
    }
    const question = waiting.length === 1 ? waiting[0] : await choose(prompter, waiting, open.more, ending);
    if (question === undefined) for (const { id } of waiting) seen.later.add(id);
    else if (question === 'interrupted' || !(await askOne(box, prompter, open, question, seen, ending))) {
      if (following) return RESULT;
      throw new Failure('interrupted', 'interrupted; unanswered questions stay open');
    }
  }
  return RESULT;
}

interface Seen {
  done: Set<string>;
  later: Set<string>;
}

/** Returns whether to continue. */
async function askOne(
  { api, screen }: Inbox,
  prompter: Prompter,
  open: OpenQuestions,
  { id }: Question,
  seen: Seen,
  ending: AbortSignal,
): Promise<boolean> {
  const ended = open.ended(id);
  try {
    // Including the fields that the list omits.
    const question = await questionOf(api, id);
    const asked = await askQuestion(api, prompter, question, AbortSignal.any([ended, ending]));
    if (asked !== 'interrupted') seen[asked === 'later' ? 'later' : 'done'].add(id);
    return asked !== 'interrupted';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    screen.note(messageOf(error));
    seen.later.add(id);
    return true;
  } finally {
    open.leave(id);
  }
}

/** `undefined`: none of them. */
async function choose(
  prompter: Prompter,
  waiting: readonly Question[],
  more: boolean,
  ending: AbortSignal,
): Promise<Question | 'interrupted' | undefined> {
  const options: Option<Question | undefined>[] = [
    ...waiting.map((question) => ({
      value: question,
      label: `${serverAndTool(question)}: ${subjectOf(question)}`,
      hint: waitOf(question),
    })),
    { value: undefined, label: 'None', hint: 'leave them open; also Esc' },
  ];
  const count = `${waiting.length}${more ? ' and more' : ''}`;
  const chosen = await prompter.choose(ending, `${count} open questions, oldest first`, options);
  if (chosen.kind === 'interrupted') return 'interrupted';
  return chosen.kind === 'answered' ? chosen.value : undefined;
}
