/** What it costs that nothing is lost. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLog } from '../src/lib/log.ts';
import { createTask, transition } from '../src/core/task/task.ts';
import { openSqliteStore } from '../src/store/sqlite/store.ts';
import { session } from '../tests/support/records.ts';
import { Child, PROGRAM } from './child.ts';
import { LoadClient } from './load.ts';

const TASKS = 100_000;
const PER_SESSION = 100;
const COMMITS = 2000;
const LOAD_MS = 2000;

export interface Durability {
  /** Calls a second that become tasks, 16 at a time. */
  promotions: { file: number; memory: number };
  commitMs: { p50: number; p99: number };
  full: { tasks: number; bytes: number; startMs: number };
  empty: { startMs: number };
}

export async function measureDurability(folder: string, origin: string): Promise<Durability> {
  const filled = join(folder, 'filled', 'store.db');
  const bytes = await fill(filled);
  return {
    promotions: {
      memory: await promotions(folder, origin, ':memory:'),
      file: await promotions(folder, origin, join(folder, 'promotions.db')),
    },
    commitMs: await commits(join(folder, 'commits.db')),
    empty: { startMs: await startMs(folder, origin, join(folder, 'empty.db')) },
    full: { tasks: TASKS, bytes, startMs: await startMs(folder, origin, filled) },
  };
}

/** Finished tasks of many sessions, as a busy day leaves them. Tells how many bytes they take. */
async function fill(path: string): Promise<number> {
  await mkdir(join(path, '..'), { recursive: true });
  const store = await openSqliteStore({ path, log: createLog('silent') });
  const now = Date.now();
  const result = { content: [{ type: 'text', text: 'x'.repeat(200) }] };
  for (let index = 0; index < TASKS; index += 1) {
    const sessionId = `session-${Math.floor(index / PER_SESSION)}`;
    if (index % PER_SESSION === 0) {
      store.put('session', { ...session(sessionId), createdAt: now, lastActiveAt: now });
      await store.settled();
    }
    const args = { text: 'y'.repeat(50) };
    const task = createTask(
      { id: `task-${index}`, sessionId, server: 'legacy', tool: 'slow', args, ttlMs: 300_000 },
      now,
    );
    const ended = transition(task, { type: 'complete', result }, { now, keepMs: 3_600_000 });
    if (ended) store.put('task', ended);
  }
  await store.close();
  return (await stat(path)).size;
}

async function commits(path: string): Promise<{ p50: number; p99: number }> {
  const store = await openSqliteStore({ path, log: createLog('silent') });
  const times: number[] = [];
  for (let index = 0; index < COMMITS; index += 1) {
    const args = { text: 'y'.repeat(50) };
    const started = performance.now();
    store.put('task', createTask({ id: `t${index}`, sessionId: 's', server: 'a', tool: 'b', args, ttlMs: 1 }, 1));
    await store.settled();
    times.push(performance.now() - started);
  }
  await store.close();
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

async function promotions(folder: string, origin: string, store: string): Promise<number> {
  const child = await gateway(folder, origin, store);
  const client = new LoadClient({ url: await child.url, era: 'legacy', server: 'legacy', promoted: true });
  try {
    await client.open();
    await client.run(16, LOAD_MS);
    const { calls, seconds } = await client.run(16, LOAD_MS);
    return calls / seconds;
  } finally {
    client.close();
    // So that the last calls end by themselves.
    await delay(200);
    await child.stop();
  }
}

async function startMs(folder: string, origin: string, store: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const started = performance.now();
    const child = await gateway(folder, origin, store);
    const client = new LoadClient({ url: await child.url, era: 'legacy', server: 'legacy' });
    await client.open();
    times.push(performance.now() - started);
    client.close();
    await child.stop();
  }
  return times.toSorted((a, b) => a - b)[2] ?? Number.NaN;
}

async function gateway(folder: string, origin: string, store: string): Promise<Child> {
  const config = join(folder, 'durability.json');
  const mcpServers = { legacy: { url: `${origin}/legacy` } };
  const meanwhile = { port: 0, store, tasks: { keepMs: 3_600_000 } };
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile }));
  return new Child([PROGRAM, 'serve', '--config', config]);
}
