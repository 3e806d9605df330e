/** One cell of the matrix: a client comes, does all that its kind can, and leaves. */
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { AGE, describe, described, NOBODY, whoIs } from '../../tests/e2e/direct/matrix/answers.ts';
import type { Cell } from '../../tests/e2e/direct/matrix/cells.ts';
import type { Called, MatrixClient } from '../../tests/e2e/direct/matrix/client.ts';
import type { Door, Driver } from '../../tests/e2e/direct/matrix/drivers.ts';
import type { Json } from '../../tests/support/hub.ts';
import { nameOf, type SoakServers } from './servers.ts';

/** A slow call is a task before it ends, for those who can have one. */
export const SLOW_MS = 400;
const UNWANTED_MS = 600_000;
const GIVEN_UP_MS = 1000;
/** Long enough for a call to have arrived, where nobody can tell. */
const ON_ITS_WAY_MS = 300;
const PATIENCE_MS = 30_000;

export interface Play {
  cell: Cell;
  driver: Driver;
  /** How the gateway reaches the server. */
  door: Door;
  /** The hub's address. */
  url: string;
  servers: SoakServers;
  /** Part of what is said in each call, so that no two plays say the same. */
  tag: string;
}

export interface Played {
  calls: number;
  failures: string[];
}

/** Does something that may fail, and writes down when it did. */
type Attempt = (what: string, work: () => Promise<void>) => Promise<void>;

export async function play({ cell, driver, door, url, servers, tag }: Play): Promise<Played> {
  const { client: clientKind, server: serverKind } = cell;
  const server = nameOf(serverKind, door);
  const failures: string[] = [];
  const attempt: Attempt = async (what, work) =>
    inTime(work()).catch((error: unknown) => {
      failures.push(`${clientKind} (${driver.player}) with ${server}, ${what} ${tag}: ${String(error)}`);
    });
  let client: MatrixClient | undefined;
  await attempt('open', async () => {
    client = await driver.open({ url: `${url}/${server}` });
  });
  if (client === undefined) return { calls: 0, failures };
  const opened: MatrixClient = client;
  const hasTasks = serverKind === 'tasks' || serverKind === 'extension';
  const calls = [
    attempt('echo', () => says(opened, 'echo', { text: tag }, tag)),
    attempt('slow', () => says(opened, 'slow', { ms: SLOW_MS, text: tag, steps: 2 }, tag)),
    ...(hasTasks ? [attempt('required', () => says(opened, 'required', { text: tag }, tag))] : []),
    clientKind === 'rounds'
      ? // It has no word for it, and leaving is none: the call goes on as a task, which the hub can see.
        attempt('give up', () => stopped(opened, { ms: GIVEN_UP_MS, text: `given up ${tag}` }, delay(ON_ITS_WAY_MS)))
      : attempt('cancel', async () => {
          const text = `unwanted ${tag}`;
          const there = door === 'http' ? servers.called(serverKind, text) : delay(ON_ITS_WAY_MS);
          await stopped(opened, { ms: UNWANTED_MS, text }, there);
          if (door === 'http') await attempt('hear of it', () => servers.cancelled(serverKind, text));
        }),
    ...(cell.via.length > 0 ? asking(opened, tag, attempt) : []),
  ];
  await Promise.all(calls);
  await attempt('close', () => opened.close());
  return { calls: calls.length, failures };
}

function asking(client: MatrixClient, tag: string, attempt: Attempt): Promise<void>[] {
  const names = ['Ada', 'Ben'].map((name) => `${name}_${tag}`);
  return [
    ...names.map((name) => attempt('ask', () => says(client, 'ask', { message: whoIs(name) }, `Hello ${name}`))),
    ...names.map((name) => attempt('sample', () => samples(client, name))),
    attempt('ask twice', () => says(client, 'ask_twice', {}, `Hello ${NOBODY}, ${AGE}`)),
  ];
}

async function says(client: MatrixClient, tool: string, args: Json, text: string): Promise<void> {
  const { content, isError } = await client.call(tool, args);
  expectSame({ content, isError }, { content: [{ type: 'text', text }], isError: false });
}

async function samples(client: MatrixClient, name: string): Promise<void> {
  const { content } = await client.call('sample', { prompt: describe(name) });
  const [{ text = '' } = {}] = content as { text?: string }[];
  const { content: answer } = JSON.parse(text) as Json;
  expectSame(answer, { type: 'text', text: described(name) });
}

/** A call that its user stops while it is at work, once it is `there`. */
async function stopped(client: MatrixClient, args: Json, there: Promise<unknown>): Promise<void> {
  const user = new AbortController();
  const call = client.call('slow', args, { signal: user.signal }).then(
    (called: Called) => `ended with ${JSON.stringify(called)}`,
    () => 'stopped',
  );
  await there;
  user.abort('enough');
  expectSame(await call, 'stopped');
}

function expectSame(actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
}

async function inTime(work: Promise<void>): Promise<void> {
  const over = new AbortController();
  const impatience = async (): Promise<never> => {
    await delay(PATIENCE_MS, undefined, { signal: over.signal });
    throw new Error(`not done after ${PATIENCE_MS} ms`);
  };
  return Promise.race([work, impatience()]).finally(() => over.abort());
}
