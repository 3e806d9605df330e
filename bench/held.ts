/**
 * Many calls held open at once through the direct endpoint, half of them of older clients and half of newer ones, all with
 * a progress token: what each of them costs in memory, and whether all of them return with what is theirs.
 *
 * `npm run bench:held`, with `-- --calls 1000 --seconds 60`; `-- --json` for figures to compute with.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createParser } from 'eventsource-parser';
import { Child, PROGRAM, script, type Memory } from './child.ts';
import { asCall, LoadClient, runLoad, type Era } from './load.ts';
import { mb } from './table.ts';

const ERAS: Era[] = ['legacy', 'modern'];
const LOOK_MS = 50;
const REST_MS = 3000;
const WARM_UP_MS = 300;

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

interface Held {
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

async function main(calls: number, seconds: number): Promise<Held> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-held-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const backend = script('backend.ts');
  const gateway = await startGateway(folder, await backend.url, calls);
  try {
    const clients = await openClients(gateway);
    // What the program and its connections need anyway is not that of the calls.
    for (const { echo } of clients) await runLoad(echo, 1, WARM_UP_MS);
    await delay(REST_MS);
    const before = await gateway.memory();

    const pending = clients.flatMap(({ era, wait }, half) =>
      Array.from({ length: Math.ceil((calls - half) / 2) }, (_, index) => waitingCall(wait, era, index * 2 + half)),
    );
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
  const mcpServers = Object.fromEntries(ERAS.map((era) => [era, { url: `${origin}/${era}` }]));
  const meanwhile = {
    port: 0,
    store: ':memory:',
    limits: { requestsPerSession: calls + 100 },
    tasks: { perSession: calls + 100 },
  };
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile }));
  return new Child([PROGRAM, 'serve', '--config', config], { execArgv: ['--expose-gc'] });
}

async function openClients(gateway: Child): Promise<Clients[]> {
  const url = await gateway.url;
  const clients = ERAS.map((era) => ({
    era,
    echo: new LoadClient({ url: `${url}/${era}`, era }),
    wait: new LoadClient({ url: `${url}/${era}`, era, tool: 'wait' }),
  }));
  for (const client of clients.flatMap(({ echo, wait }) => [echo, wait])) await client.open();
  return clients;
}

async function waitingCall(client: LoadClient, era: Era, index: number): Promise<Returned> {
  const text = `call ${index}`;
  const call = { name: 'wait', arguments: { text } };
  try {
    const answer = await client.post(asCall(index, call, era, { progressToken: index }));
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

function asText({ calls, seconds, before, open, held, after, returnMs, right, wrong, progress }: Held): string {
  const line = (what: string, memory: Memory): string => {
    const each = (key: 'rssBytes' | 'heapBytes'): string =>
      `${((memory[key] - before[key]) / calls / 1000).toFixed(1)} kB`;
    const perCall =
      memory === open || memory === held ? `; each call ${each('rssBytes')}, of it heap ${each('heapBytes')}` : '';
    const sockets = memory.handles['TCPSocketWrap'] ?? 0;
    return `${what.padEnd(28)} ${mb(memory.rssBytes)}, heap ${mb(memory.heapBytes)}, ${sockets} sockets${perCall}`;
  };
  return [
    line('before', before),
    line(`${calls} calls open`, open),
    line(`${calls} calls open for ${seconds} s`, held),
    line('after', after),
    `${'back with the right result'.padEnd(28)} ${right} of ${calls}, the last ${returnMs.toFixed(0)} ms after the server was told`,
    `${'progress heard'.padEnd(28)} ${progress.fewest} to ${progress.most} reports a call`,
    ...wrong,
  ].join('\n');
}

// An interrupted benchmark takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const figures = await main(Number(values.calls), Number(values.seconds));
console.log(values.json ? JSON.stringify(figures, undefined, 2) : asText(figures));
process.exitCode = figures.right === figures.calls ? 0 : 1;
