import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { DOORS, hubThrough, WAYS } from './doors.ts';
import { awaitActivity, eventsUntil, has, taskOf } from './watch.ts';

test.each(WAYS)(
  'H-3, H-7: a call times out, asks a question, is answered and returns its result ($door, $kind)',
  async (way) => {
    // Over stdio with two calls in flight it is not known which one asks; the timeout may come first.
    const hub = await hubThrough(way, { one: v1Stdio() });
    const busy = await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 50 });
    const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask', timeout_ms: 100 });
    const taskId = taskIdOf(promoted);
    // It comes in the reply, or in time.
    if (promoted.elicitations.length === 0) await eventsUntil(hub, has('elicitation_request'));
    const { elicitations } = await hub.call('get_task', { task_id: taskId });
    expect(elicitations).toMatchObject([{ server: 'one', message: 'What is your name?' }]);
    expect(await taskOf(hub, taskId)).toMatchObject({ status: 'working' });

    const given = await hub.call('respond_to_elicitation', {
      request_id: elicitations[0]?.requestId,
      action: 'accept',
      content: { name: 'Ida' },
    });
    expect(given.body).toEqual({ success: true, message: expect.stringContaining('accept') as unknown });
    expect(given.elicitations).toEqual([]);
    const result = await hub.call('get_task_result', { task_id: taskId });
    expect(result.text).toBe('Hello Ida');
    expect((await hub.call('cancel_task', { task_id: taskIdOf(busy) })).body).toMatchObject({ success: true });
  },
);

test.each(
  DOORS.flatMap((door) => [
    { door, action: 'accept', content: { name: 'Jo' }, said: 'Hello Jo' },
    { door, action: 'decline', content: undefined, said: 'declined' },
    { door, action: 'cancel', content: undefined, said: 'cancelled' },
  ]),
)('H-3: a question is answered with $action ($door)', async ({ door, action, content, said }) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  await hub.call('respond_to_elicitation', {
    request_id: promoted.elicitations[0]?.requestId,
    action,
    ...(content && { content }),
  });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.raw.content[0]).toEqual({ type: 'text', text: said });
  expect(result.elicitations).toEqual([]);
});

test.each([
  ...DOORS.map((door) => ({ door, by: 'v1 over http' })),
  { door: 'http' as const, by: 'v1 over stdio' },
  { door: 'http' as const, by: 'modern over http' },
  { door: 'http' as const, by: 'modern over stdio' },
])('H-3: two questions of one call are asked one after the other ($door, $by)', async ({ door, by }) => {
  const servers = {
    'v1 over http': async () => ({ url: owned(await startV1Http()).url }),
    'v1 over stdio': async () => v1Stdio(),
    'modern over http': async () => ({ url: owned(await startV2Http({ era: 'modern' })).url }),
    'modern over stdio': async () => v2Stdio({ TEST_MODERN_ONLY: '1' }),
  };
  const one = await servers[by as keyof typeof servers]();
  const hub = await hubThrough({ door, kind: 'v1' }, { one });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask_twice' });
  const task_id = taskIdOf(promoted);
  expect(promoted.elicitations.map(({ message }) => message)).toEqual(['What is your name?']);
  const given = await hub.call('respond_to_elicitation', {
    request_id: promoted.elicitations[0]?.requestId,
    action: 'accept',
    content: { name: 'Kim' },
  });
  if (given.elicitations.length === 0) await eventsUntil(hub, has('elicitation_request'));
  const task = await hub.call('get_task', { task_id });
  expect(task.body).toMatchObject({
    task: { status: 'working' },
    pending_elicitations_for_server: [{ message: 'How old are you?' }],
  });
  await hub.call('respond_to_elicitation', {
    request_id: task.elicitations[0]?.requestId,
    action: 'accept',
    content: { age: 33 },
  });
  expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Kim, 33');
});

test('H-5, H-9: a question in URL mode is accepted without content', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask_url' });
  expect(promoted.elicitations).toMatchObject([
    { message: 'Please sign in', mode: 'url', url: 'https://example.com/authorize?state=1' },
  ]);
  await hub.call('respond_to_elicitation', { request_id: promoted.elicitations[0]?.requestId, action: 'accept' });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('signed in');
});

test.each(['url', 'command'])(
  'H-5: a question that the server withdraws disappears for the client (%s)',
  async (by) => {
    const one = by === 'url' ? { url: owned(await startV1Http()).url } : v1Stdio();
    const { url } = await httpGateway({ one });
    const hub = await hubOverHttp(url);
    const promoted = await hub.call('execute_tool', { server: 'one', tool: 'withdraw', args: { ms: 400 } });
    const requestId = promoted.elicitations[0]?.requestId;
    const events = await eventsUntil(hub, has('elicitation_expired'));
    expect(events.find(({ type }) => type === 'elicitation_expired')?.data).toEqual({
      requestId,
      reason: 'withdrawn by the server',
    });
    const late = await hub.call('respond_to_elicitation', {
      request_id: requestId,
      action: 'accept',
      content: { name: 'Lou' },
    });
    expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND', elicitations: [] });
    const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
    // The v1 SDK answers a request it was asked to cancel with nothing: what it says is what the tool returned.
    expect(result.text).toBe('withdrew');
  },
);

test('H-5: a question without an answer expires with an error to the server', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { questions: { timeoutMs: 400 } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const events = await eventsUntil(hub, has('task_failed'));
  expect(events.map(({ type }) => type)).toEqual(['elicitation_expired', 'task_failed']);
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(result.text).toContain('not answered in time');
  expect((await awaitActivity(hub, { timeout_ms: 0 })).pending_client.elicitations).toEqual([]);
});
