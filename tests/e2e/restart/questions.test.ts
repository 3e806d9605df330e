import { describe, expect, test, vi } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import type { HubEvent, PendingElicitation } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession, type RawSession } from '../../support/raw-http.ts';
import { begin, beginAsking, kill, killable, restart, stateOf, stored } from './killable.ts';

const FAST = { servers: { reconnect: { firstMs: 50, maxMs: 200 } } };

async function openQuestions(session: RawSession): Promise<PendingElicitation[]> {
  return (await session.reply('get_elicitations')).body['elicitations'] as PendingElicitation[];
}

async function answer(session: RawSession, request_id: string | undefined, name = 'Ada') {
  return session.reply('respond_to_elicitation', { request_id, action: 'accept', content: { name } });
}

describe('P-1, P-2: questions of a native task', () => {
  test('P-1, P-2: keep their id, and can be answered before the server is back', async () => {
    const first = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: first.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'ext', 'ask', { message: 'Who?' });
    const [asked] = reply.elicitations;
    await kill(gateway);
    await first.stop();
    await gateway.start();
    const open = await openQuestions(session);
    expect(open).toEqual([asked]);
    expect((await answer(session, asked?.requestId)).body).toMatchObject({ success: true });
    expect(await openQuestions(session)).toEqual([]);
    const { port, state } = first;
    owned(await startTasksV2Http({ port, state }));
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('Hello Ada');
    expect(requestsOf(state, 'tasks/update')).toHaveLength(1);
  });

  test('P-2, P-3: an answer given just before a kill reaches the server once, after the restart', async () => {
    const first = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: first.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'ext', 'ask');
    await first.stop();
    expect((await answer(session, reply.elicitations[0]?.requestId)).body).toMatchObject({ success: true });
    await kill(gateway);
    await gateway.start();
    expect(await openQuestions(session)).toEqual([]);
    const { port, state } = first;
    owned(await startTasksV2Http({ port, state }));
    const result = await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 });
    expect(result.text).toBe('Hello Ada');
    expect(requestsOf(state, 'tasks/update')).toHaveLength(1);
    expect(result.events.filter(({ type }) => type === 'elicitation_request')).toEqual([]);
  });

  test('P-2: a sampling request survives the restart and can be answered', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: server.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'ext', 'sample', { prompt: 'Rhyme' });
    const [asked] = reply.samplings;
    await restart(gateway);
    const { body } = await session.reply('get_sampling_requests');
    expect(body['sampling_requests']).toEqual([asked]);
    await session.reply('respond_to_sampling', { request_id: asked?.requestId, content: 'Time' });
    expect((await session.reply('get_task_result', { task_id: id })).text).toContain('"text":"Time"');
  });

  test('P-2: the second question of a task has its own id', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: server.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'ext', 'ask_twice');
    await answer(session, reply.elicitations[0]?.requestId);
    await expect
      .poll(async () => (await openQuestions(session)).map(({ message }) => message))
      .toEqual(['How old are you?']);
    const [second] = await openQuestions(session);
    await restart(gateway);
    expect(await openQuestions(session)).toEqual([second]);
    const content = { age: 36 };
    await session.reply('respond_to_elicitation', { request_id: second?.requestId, action: 'accept', content });
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('Hello Ada, 36');
  });

  test('P-2, B-3: a 2025-11-25 task that asked a question before the restart completes after it', async () => {
    const server = owned(await startTasksV1Http());
    const gateway = await killable({ core: { url: server.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'core', 'ask');
    expect(reply.elicitations).toHaveLength(1);
    await restart(gateway);
    const open = await vi.waitFor(
      async () => {
        const now = await openQuestions(session);
        expect(now).toHaveLength(1);
        return now;
      },
      { timeout: 10_000 },
    );
    await answer(session, open[0]?.requestId);
    expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 })).text).toBe('Hello Ada');
  });
});

describe('P-2: rounds, which only the gateway knows', () => {
  test('P-2: a round that waits for an answer continues under the same id', async () => {
    const server = owned(await startV2Http({ era: 'modern' }));
    const gateway = await killable({ rounds: { url: server.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'rounds', 'ask_twice');
    const [first] = reply.elicitations;
    await restart(gateway);
    expect(await openQuestions(session)).toEqual([first]);
    await answer(session, first?.requestId);
    await expect
      .poll(async () => (await openQuestions(session)).map(({ message }) => message))
      .toEqual(['How old are you?']);
    const [second] = await openQuestions(session);
    await restart(gateway);
    expect(await openQuestions(session)).toEqual([second]);
    const content = { age: 36 };
    await session.reply('respond_to_elicitation', { request_id: second?.requestId, action: 'accept', content });
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('Hello Ada, 36');
    expect(server.state.calls).toHaveLength(3);
  });

  test('P-2, P-3: an answer given just before a kill is sent once, after the restart', async () => {
    const first = owned(await startV2Http({ era: 'modern' }));
    const gateway = await killable({ rounds: { url: first.url } }, FAST);
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'rounds', 'ask');
    await kill(gateway);
    await first.close();
    await gateway.start();
    expect((await answer(session, reply.elicitations[0]?.requestId)).body).toMatchObject({ success: true });
    await kill(gateway);
    const second = owned(await startV2Http({ era: 'modern', port: first.port }));
    await gateway.start();
    const { text } = await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 });
    // Once it may have been sent, it is not sent again: then the task says what happened.
    expect(['Hello Ada', expect.stringContaining('gateway restarted')]).toContainEqual(text);
    expect(second.state.calls.length).toBe(text === 'Hello Ada' ? 1 : 0);
  });
});

test('P-2: a question that was bound to a lost connection ends, and its event says why', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { id, reply } = await beginAsking(session, 'plain', 'ask');
  const requestId = reply.elicitations[0]?.requestId;
  await restart(gateway);
  const { events, elicitations } = await session.reply('get_task', { task_id: id });
  expect(elicitations).toEqual([]);
  expect(events.filter(({ type }) => type === 'elicitation_expired')).toMatchObject([
    { data: { requestId, reason: 'gateway restarted' } },
  ]);
  expect(await stateOf(session, id)).toMatchObject({ status: 'failed' });
  expect((await answer(session, requestId)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
});

test('P-2, H-3: after a restart no task waits for a lost question that it may have asked', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } });
  const session = await rawSession(gateway.url);
  const slow = await begin(session, 'plain', 'slow', { ms: 600_000 });
  const asking = await beginAsking(session, 'plain', 'ask_detached');
  expect(asking.reply.elicitations).toHaveLength(1);
  await restart(gateway);
  expect(await openQuestions(session)).toEqual([]);
  for (const { id } of [slow, asking]) {
    expect(stored(gateway, 'tasks', id)).toMatchObject({ status: 'failed' });
    expect((await stateOf(session, id)).error?.message).toContain('gateway restarted');
  }
});

test('P-1: a question that timed out during the downtime is expired, and is not asked again', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ ext: { url: server.url } }, { questions: { timeoutMs: 60_000 } });
  const session = await rawSession(gateway.url);
  const { id, reply } = await beginAsking(session, 'ext', 'ask');
  const requestId = reply.elicitations[0]?.requestId;
  await restart(gateway, 60_000);
  const events: HubEvent[] = [];
  await vi.waitFor(
    async () => {
      events.push(...(await session.reply('list_tasks')).events);
      expect(events.map(({ type }) => type)).toContain('task_failed');
    },
    { timeout: 10_000 },
  );
  expect(events.filter(({ type }) => type === 'elicitation_expired')).toMatchObject([
    { data: { requestId, reason: 'not answered in time' } },
  ]);
  expect(events.filter(({ type, data }) => type === 'elicitation_request' && data['requestId'] !== requestId)).toEqual(
    [],
  );
  expect((await stateOf(session, id)).error?.message).toContain('not answered in time');
  expect(await openQuestions(session)).toEqual([]);
});
