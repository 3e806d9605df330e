/** The start of a gateway whose database has very many sessions and tasks. */
import { createTask, transition } from '../../src/core/task/task.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { session } from '../../tests/support/records.ts';
import type { Memory } from '../child.ts';
import { LoadClient } from '../load.ts';
import type { Gateways } from './gateways.ts';

export interface FullStore {
  sessions: number;
  tasks: number;
  empty: Start;
  full: Start;
}

export interface Start {
  /** To the answer to `initialize`; the median. */
  startMs: number;
  /** After that. */
  memory: Memory;
}

const SESSIONS = 100_000;
const TASKS = 1_000_000;
const RUNS = 5;

export async function measureFullStore(gateways: Gateways, origin: string): Promise<FullStore> {
  const servers = { legacy: { url: `${origin}/legacy` } };
  const start = async (database: string): Promise<Start> => {
    const times: number[] = [];
    let memory: Memory | undefined;
    for (let run = 0; run <= RUNS; run += 1) {
      const began = performance.now();
      const gateway = await gateways.start({ servers, database });
      const client = new LoadClient({ url: gateway.url, era: 'legacy', server: 'legacy' });
      await client.open();
      // The first one creates the schema.
      if (run > 0) times.push(performance.now() - began);
      client.close();
      memory = await gateway.child.memory();
      await gateway.stop();
    }
    if (memory === undefined) throw new Error('no gateway was started');
    return { startMs: times.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? NaN, memory };
  };
  for (const name of ['empty', 'filled']) await run(gateways.postgres.url(), `CREATE DATABASE ${name}`);
  const empty = await start('empty');
  const first = await gateways.start({ servers, database: 'filled' });
  await first.stop();
  await fill(gateways.postgres.url('filled'));
  return { sessions: SESSIONS, tasks: TASKS, empty, full: await start('filled') };
}

/** As a busy day leaves them: all tasks have ended, and are kept. */
async function fill(url: string): Promise<void> {
  const now = Date.now();
  const mark = '@number@';
  const result = { content: [{ type: 'text', text: 'x'.repeat(200) }] };
  const task = createTask(
    { id: `task-${mark}`, sessionId: '@session@', server: 'legacy', tool: 'slow', args: { text: 'y' }, ttlMs: 300_000 },
    now,
  );
  const ended = transition(task, { type: 'complete', result }, { now, keepMs: 86_400_000 });
  const record = { ...session(`session-${mark}`), createdAt: now, lastActiveAt: now };
  await run(
    url,
    `INSERT INTO meanwhile.sessions (id, data, principal, owner_kind, last_active_at, resumes)
     SELECT 'session-' || n, replace('${JSON.stringify(record)}', '${mark}', n::text), 'local', 'connection', ${now}, false
     FROM generate_series(0, ${SESSIONS - 1}) n;
     INSERT INTO meanwhile.tasks (id, session_id, data, keep_until)
     SELECT 'task-' || n, 'session-' || n % ${SESSIONS},
       replace(replace('${JSON.stringify(ended)}', '${mark}', n::text), '@session@', 'session-' || n % ${SESSIONS}),
       ${now + 86_400_000} FROM generate_series(0, ${TASKS - 1}) n;
     ANALYZE`,
  );
}

async function run(url: string, sql: string): Promise<void> {
  const database = await Database.open(url);
  try {
    await database.script(sql);
  } finally {
    await database.close();
  }
}
