import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { owned } from '../../support/owned.ts';
import { rawSession, type RawSession } from '../../support/raw-http.ts';
import { beginAsking, beginNative, kill, killable, restart, rows, stateOf } from './killable.ts';

const FAST = { servers: { reconnect: { firstMs: 50, maxMs: 200 } } };
const START = { core: startTasksV1Http, ext: startTasksV2Http, rounds: () => startV2Http({ era: 'modern' }) };

async function answer(session: RawSession, request_id: string | undefined) {
  return session.reply('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Ada' } });
}

test.each(['ext', 'rounds'] as const)(
  'P-2, B-3, T-2: a task whose server is no longer configured fails, and its question ends: %s',
  async (kind) => {
    const server = owned(await START[kind]());
    const gateway = await killable({ far: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'far', 'ask');
    expect(reply.elicitations).toHaveLength(1);
    await kill(gateway);
    const meanwhile = { port: Number(new URL(gateway.url).port), store: gateway.store };
    await writeFile(join(dirname(gateway.store), 'meanwhile.json'), JSON.stringify({ mcpServers: {}, meanwhile }));
    await gateway.start();
    expect(await stateOf(session, id)).toMatchObject({ status: 'failed' });
    expect((await session.reply('get_elicitations')).body['elicitations']).toEqual([]);
    expect(await gateway.stop()).toBe(0);
    expect(rows(gateway.store, 'questions')).toEqual([]);
  },
);

test('P-2, P-4: a task with an unreadable checkpoint fails with the reason, and other tasks continue', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const session = await rawSession(gateway.url);
  const [unreadable, readable] = [
    await beginNative(gateway, session, 'far', 'hold'),
    await beginNative(gateway, session, 'far', 'hold'),
  ];
  await kill(gateway);
  const db = new Database(gateway.store);
  db.prepare(`UPDATE tasks SET data = json_set(data, '$.checkpoint.version', 99) WHERE id = ?`).run(unreadable.id);
  db.close();
  await gateway.start();
  await vi.waitFor(
    async () => expect(await stateOf(session, unreadable.id)).toMatchObject({ status: 'failed' }),
    10_000,
  );
  expect((await stateOf(session, unreadable.id)).error?.message).toContain('checkpoint of the call cannot be read');
  expect(await stateOf(session, readable.id)).toMatchObject({ status: 'working' });
});

test('P-2, P-3: an answer given while the server is away survives a stop and is sent once', async () => {
  const first = owned(await startV2Http({ era: 'modern' }));
  const gateway = await killable({ far: { url: first.url } }, FAST);
  const session = await rawSession(gateway.url);
  const { id, reply } = await beginAsking(session, 'far', 'ask');
  await kill(gateway);
  await first.close();
  await gateway.start();
  expect((await answer(session, reply.elicitations[0]?.requestId)).body).toMatchObject({ success: true });
  expect(await stateOf(session, id)).toMatchObject({ status: 'working' });
  expect(await gateway.stop()).toBe(0);
  const second = owned(await startV2Http({ era: 'modern', port: first.port }));
  await gateway.start();
  const { text } = await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 });
  expect(text).toBe('Hello Ada');
  expect(second.state.calls).toHaveLength(1);
});

test.each(['core', 'rounds'] as const)(
  'P-2, X-3: a question that returns after a kill does not count twice against the limit: %s',
  async (kind) => {
    const server = owned(await START[kind]());
    const gateway = await killable({ far: { url: server.url } }, { ...FAST, questions: { perSession: 1 } });
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'far', 'ask');
    expect(reply.elicitations).toHaveLength(1);
    await restart(gateway);
    await expect.poll(async () => (await session.reply('list_tasks')).elicitations).toEqual(reply.elicitations);
    expect((await answer(session, reply.elicitations[0]?.requestId)).body).toMatchObject({ success: true });
    expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 })).text).toBe('Hello Ada');
  },
);
