import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { hubThrough, WAYS } from './doors.ts';
import { settle, soon } from './watch.ts';

/** Longer than any test may take: a call that is answered sooner was not answered by its timeout. */
const NEVER = 600_000;

const call = (hub: HubClient, tool: string, args = {}, timeout_ms = NEVER): Promise<Reply> =>
  hub.call('execute_tool', { server: 'one', tool, args, timeout_ms });

/** A call that stays open, unless something answers it that should not, until the test has seen enough. */
function callOpen(hub: HubClient): () => Promise<void> {
  const enough = new AbortController();
  const args = { server: 'one', tool: 'slow', args: { ms: NEVER }, timeout_ms: NEVER };
  const left = expect(hub.call('execute_tool', args, { signal: enough.signal, timeout: NEVER })).rejects.toThrow(
    'enough',
  );
  return async () => {
    enough.abort('enough');
    await left;
  };
}

async function answer(hub: HubClient, requestId: string | undefined, name: string): Promise<void> {
  const reply = await hub.call('respond_to_elicitation', {
    request_id: requestId,
    action: 'accept',
    content: { name },
  });
  expect(reply.body).toMatchObject({ success: true });
}

test.each(WAYS)('H-3, H-5: a question promotes its call at once ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  const promoted = await call(hub, 'ask', { message: 'Who is there?' });
  const taskId = taskIdOf(promoted);
  expect(promoted.raw['isError']).toBe(false);
  expect(promoted.text).toContain(`Promoted to task ${taskId}`);
  expect(promoted.text).not.toContain('exceeded timeout');
  const [question] = promoted.elicitations;
  expect(question).toMatchObject({
    server: 'one',
    message: 'Who is there?',
    requestedSchema: { type: 'object', required: ['name'] },
    taskId,
  });
  expect(promoted.body['pending_on_server']).toMatchObject({
    tasks: [],
    elicitations_for_server: [{ requestId: question?.requestId }],
  });
  await answer(hub, question?.requestId, 'Ada');
  expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Ada');
});

const SERVERS: { name: string; start: () => Promise<Servers[string]> }[] = [
  { name: 'v1 over http', start: async () => ({ url: owned(await startV1Http()).url }) },
  {
    name: 'v1 over http, no standing stream',
    start: async () => ({ url: owned(await startV1Http({ noGetStream: true })).url }),
  },
  { name: 'v1 over stdio', start: async () => v1Stdio() },
  { name: 'v2 over http', start: async () => ({ url: owned(await startV2Http()).url }) },
  { name: 'modern over http', start: async () => ({ url: owned(await startV2Http({ era: 'modern' })).url }) },
  { name: 'modern over stdio', start: async () => v2Stdio({ TEST_MODERN_ONLY: '1' }) },
];

test.each(SERVERS)('H-3, B-6: a question promotes the only call in flight ($name)', async ({ start }) => {
  const { url } = await httpGateway({ one: await start() });
  const hub = await hubOverHttp(url);
  const promoted = await call(hub, 'ask');
  expect(promoted.elicitations).toMatchObject([{ taskId: taskIdOf(promoted) }]);
  await answer(hub, promoted.elicitations[0]?.requestId, 'Bo');
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Bo');
});

test('H-3: a question outside the stream of its call promotes the only call in flight', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const promoted = await call(hub, 'ask_detached');
  await answer(hub, promoted.elicitations[0]?.requestId, 'Cy');
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Cy');
});

test('H-3: each question on the stream of a call is attributed to that call', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const leave = callOpen(hub);
  await soon(() => gateway.sessions[0]?.calls.size).toBe(1);
  const names = ['Eve', 'Flo', 'Gus'];
  const promoted = await Promise.all(names.map((name) => call(hub, 'ask', { message: `Are you ${name}?` })));

  const { elicitations } = await hub.call('get_elicitations');
  expect(elicitations).toHaveLength(3);
  for (const [index, reply] of promoted.entries()) {
    const mine = elicitations.filter(({ taskId }) => taskId === taskIdOf(reply));
    expect(mine.map(({ message }) => message)).toEqual([`Are you ${names[index]}?`]);
  }
  // Answered in another order than asked.
  for (const { requestId, message } of elicitations.toReversed()) {
    await answer(hub, requestId, message.replace(/Are you (.*)\?/, '$1'));
  }
  const results = await Promise.all(promoted.map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })));
  expect(results.map(({ text }) => text)).toEqual(['Hello Eve', 'Hello Flo', 'Hello Gus']);
  await leave();
});

test('H-3: with two modern calls in flight each question is attributed to its call', async () => {
  const server = owned(await startV2Http({ era: 'modern' }));
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const promoted = await Promise.all([call(hub, 'ask', { message: 'first' }), call(hub, 'ask', { message: 'second' })]);
  const { elicitations } = await hub.call('get_elicitations');
  for (const { requestId, message } of elicitations.toReversed()) await answer(hub, requestId, message);
  const results = await Promise.all(promoted.map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })));
  expect(results.map(({ text }) => text)).toEqual(['Hello first', 'Hello second']);
});
