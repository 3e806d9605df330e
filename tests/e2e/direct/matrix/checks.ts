/** What holds in every cell, whoever the client and the server are. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Json } from '../../../support/hub.ts';
import { soon } from '../../flows/watch.ts';
import { AGE, describe, described, NOBODY, whoIs } from './answers.ts';
import type { ServerKind, Via } from './cells.ts';
import type { Asked, Called, MatrixClient } from './client.ts';
import type { MatrixServer, ServerCall } from './servers.ts';

const SLOW_MS = 600;

/** A slow call is a task before it ends, for those who can have one. */
export const SETTINGS = { direct: { taskAfterMs: SLOW_MS / 3 } };

const NEVER_MS = 600_000;

/** Shorter than a test may take, so that a call without an answer is named. */
const PATIENCE_MS = 15_000;

async function answerOf(tool: string, args: Json, call: Promise<Called>): Promise<Called> {
  const answered = new AbortController();
  const impatience = async (): Promise<never> => {
    await delay(PATIENCE_MS, undefined, { signal: answered.signal });
    throw new Error(`no answer to ${tool} ${JSON.stringify(args)}`);
  };
  return Promise.race([call, impatience()]).finally(() => answered.abort());
}

async function expectText(client: MatrixClient, tool: string, args: Json, text: string): Promise<Called> {
  const called = await answerOf(tool, args, client.call(tool, args));
  const { content, isError } = called;
  expect({ content, isError }).toEqual({ content: [{ type: 'text', text }], isError: false });
  return called;
}

/** Each call gives exactly its own result, and has run once. */
export async function resultsAreRight(client: MatrixClient, server: MatrixServer, kind: ServerKind): Promise<void> {
  await Promise.all([
    expectText(client, 'echo', { text: 'fast' }, 'fast'),
    ...(kind === 'tasks' || kind === 'extension'
      ? [expectText(client, 'required', { text: 'required' }, 'required')]
      : []),
  ]);
  const ran = ({ tool }: ServerCall): boolean => tool === 'echo' || tool === 'required';
  const times = (await server.calls()).filter(ran).map(({ tool }) => tool);
  expect(times.length).toBe(new Set(times).size);
}

/**
 * A slow call ends with its result as a fast one does; whoever waits for it on the open call hears how it is doing.
 * `interrupted`: the call may carry a question of another call. While its client answers that one, no request is open that
 * could bring progress.
 */
export async function slowIsFine(
  client: MatrixClient,
  server: MatrixServer,
  kind: ServerKind,
  { interrupted = false } = {},
): Promise<Called> {
  const progress: unknown[] = [];
  const args = { ms: SLOW_MS, text: 'slow', steps: 2 };
  const call = client.call('slow', args, { onProgress: (message) => void progress.push(message) });
  const called = await answerOf('slow', args, call);
  expect(called).toMatchObject({ content: [{ type: 'text', text: 'slow' }], isError: false });
  // Servers that keep tasks tell it in the state of these.
  const tells = kind === 'plain' || kind === 'pushes' || kind === 'rounds';
  const steps = ['step 1', 'step 2'].filter((step) => !interrupted || progress.includes(step));
  if (tells && !called.asTask) expect(progress).toEqual(steps);
  expect((await server.calls()).filter((each) => each.args['text'] === 'slow')).toHaveLength(1);
  return called;
}

export interface Asking {
  client: MatrixClient;
  /** Different ones for each client: each of these is asked for in a call of its own, all at once. */
  names: readonly string[];
  /** Where the questions are answered: the client itself, or the hub. */
  answerer: { asked: readonly Asked[] };
  via: readonly Via[];
  /** Whether the server leaves open which of its calls asks, as one does that pushes questions over stdio. */
  anonymous?: boolean;
  /** Whether a question is asked again with another call when the call that carried it ends or is cancelled. */
  askedAgain?: boolean;
}

/** Each answer arrives at the call whose server asked for it, and each question at one party, once unless `askedAgain`. */
export async function questionsAreAnswered(asking: Asking): Promise<void> {
  const { client, names, answerer, via, anonymous, askedAgain } = asking;
  const asks = names.map((name) => expectText(client, 'ask', { message: whoIs(name) }, `Hello ${name}`));
  const samples = names.map(async (name) => {
    const args = { prompt: describe(name) };
    const { content } = await answerOf('sample', args, client.call('sample', args));
    const [{ text }] = content as [{ text: string }];
    expect(JSON.parse(text)).toMatchObject({ model: 'matrix', content: { type: 'text', text: described(name) } });
  });
  await Promise.all([...asks, ...samples]);
  const mine = answerer.asked.filter(({ name }) => names.includes(name));
  const asked = mine.map(({ method, name }) => `${method} ${name}`).toSorted();
  expect(askedAgain ? [...new Set(asked)] : asked).toEqual(
    ['elicitation/create', 'sampling/createMessage'].flatMap((method) => names.map((name) => `${method} ${name}`)),
  );
  for (const { name, via: came, callOf = name } of mine) {
    // Where nobody knows whose question it is, no task is to be named, or any.
    expect(anonymous ? [...via, 'request'] : via).toContain(came);
    if (!anonymous) expect(callOf).toBe(name);
  }
}

/** One question after the other in one call; they name nobody. */
export async function twoQuestionsAreAnswered({ client, answerer, askedAgain }: Asking): Promise<void> {
  await expectText(client, 'ask_twice', {}, `Hello ${NOBODY}, ${AGE}`);
  if (!askedAgain) expect(answerer.asked.filter(({ name }) => name === NOBODY)).toHaveLength(2);
}

/** A call that is no longer wanted ends for the client and on the server, and no other one does. */
export async function cancelWorks(
  client: MatrixClient,
  server: MatrixServer,
  then: () => Promise<void> = async () => {},
): Promise<void> {
  const before = [...(await server.cancelled())];
  const user = new AbortController();
  const unwanted = client.call('slow', { ms: NEVER_MS, text: 'unwanted' }, { signal: user.signal });
  const ended = expect(unwanted).rejects.toThrow();
  await soon(async () => (await server.calls()).map(({ args }) => args['text'])).toContain('unwanted');
  user.abort('enough');
  await ended;
  await then();
  await soon(server.cancelled).toEqual([...before, 'slow:unwanted']);
}
