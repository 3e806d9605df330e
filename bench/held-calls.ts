/**
 * Many calls held open at once through the direct endpoint, half of them of older clients and half of newer ones, all with
 * a progress token: what each of them costs in memory, and whether all of them return with what is theirs.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { Child, PROGRAM, script, type Memory } from './child.ts';
import { asCall, LoadClient, runLoad, type Era } from './load.ts';

const ERAS: Era[] = ['legacy', 'modern'];
const LOOK_MS = 50;
const REST_MS = 3000;
const WARM_UP_MS = 2000;
/** A connection to a server has a limited number of sockets, and each of these calls needs one. */
const CALLS_PER_SERVER = 200;

interface Clients {
  era: Era;
  echo: LoadClient;
  wait: LoadClient;
}

interface Returned {
  right: boolean;
  progress: number;
  why?: string;
}

export interface Held {
  calls: number;
  seconds: number;
  before: Memory;
  /** When all were open, and when they had been for the whole time. */
  open: Memory;
  held: Memory;
  after: Memory;
  /** From the word to the server until the last one was back. */
  returnMs: number;
  right: number;
  wrong: string[];
  /** Fewest and most reports of progress that a call has heard. */
  progress: { fewest: number; most: number };
}

export async function measureHeldCalls(folder: string, calls: number, seconds: number): Promise<Held> {
  const backend = script('backend.ts');
  const gateway = await startGateway(folder, await backend.url, calls);
  try {
    const clients = await openClients(gateway, serversFor(calls));
    // What a busy program needs anyway, such as a young generation of its full size, is not that of the calls.
    for (const { echo } of clients) await runLoad(echo, 16, WARM_UP_MS);
    await delay(REST_MS);
    const before = await gateway.memory();

    const pending: Promise<Returned>[] = [];
    for (let index = 0; index < calls; index += 1) {
      const client = clients[index % clients.length];
      if (client) pending.push(waitingCall(client, index));
    }
    while ((await backend.ask<{ held: number }>('held')).held < calls) await delay(LOOK_MS);
    const open = await gateway.memory();
    await delay(seconds * 1000);
    const held = await gateway.memory();

    const released = performance.now();
    await backend.ask('release');
    const returned = await Promise.all(pending);
    const returnMs = performance.now() - released;
    for (const client of clients.flatMap(({ echo, wait }) => [echo, wait])) client.close();
    await delay(REST_MS);
    const after = await gateway.memory();

    const beats = returned.map(({ progress }) => progress);
    return {
      calls,
      seconds,
      before,
      open,
      held,
      after,
      returnMs,
      right: returned.filter(({ right }) => right).length,
      wrong: returned.flatMap(({ why }) => why ?? []).slice(0, 5),
      progress: { fewest: Math.min(...beats), most: Math.max(...beats) },
    };
  } finally {
    await Promise.all([gateway.stop(), backend.stop()]);
  }
}

async function startGateway(folder: string, origin: string, calls: number): Promise<Child> {
  const config = join(folder, 'held.json');
  const mcpServers = Object.fromEntries(serversFor(calls).map(({ name, era }) => [name, { url: `${origin}/${era}` }]));
  const meanwhile = {
    port: 0,
    store: ':memory:',
    limits: { requestsPerSession: calls + 100 },
    tasks: { perSession: calls + 100 },
  };
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile }));
  return new Child([PROGRAM, 'serve', '--config', config], { execArgv: ['--expose-gc'] });
}

/** Servers of both eras, which are one and the same to the backend. */
function serversFor(calls: number): { name: string; era: Era }[] {
  const ofEach = Math.ceil(calls / ERAS.length / CALLS_PER_SERVER);
  return Array.from({ length: ofEach }, (_, index) => ERAS.map((era) => ({ name: `${era}-${index}`, era }))).flat();
}

async function openClients(gateway: Child, servers: { name: string; era: Era }[]): Promise<Clients[]> {
  const origin = await gateway.url;
  const clients = servers.map(({ name, era }) => {
    const url = `${origin}/${name}`;
    return { era, echo: new LoadClient({ url, era }), wait: new LoadClient({ url, era, tool: 'wait' }) };
  });
  for (const client of clients.flatMap(({ echo, wait }) => [echo, wait])) await client.open();
  return clients;
}

async function waitingCall({ wait, era }: Clients, index: number): Promise<Returned> {
  const text = `call ${index}`;
  const call = { name: 'wait', arguments: { text } };
  try {
    const answer = await wait.post(asCall(index, call, era, { progressToken: index }));
    const messages = messagesIn(answer.text);
    const last = JSON.stringify(messages.at(-1));
    const right = last.includes(`"id":${index}`) && last.includes(`[{"type":"text","text":"${text}"}]`);
    return { right, progress: messages.length - 1, ...(!right && { why: `HTTP ${answer.status}: ${answer.text}` }) };
  } catch (error) {
    return { right: false, progress: 0, why: String(error) };
  }
}

function messagesIn(text: string): unknown[] {
  if (text.startsWith('{')) return [JSON.parse(text)];
  const messages: unknown[] = [];
  const onEvent = ({ data }: { data: string }): void => {
    if (data !== '') messages.push(JSON.parse(data));
  };
  createParser({ onEvent }).feed(text);
  return messages;
}
