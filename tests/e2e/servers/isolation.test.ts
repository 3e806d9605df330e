import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, taskIdOf, type ClientKind, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { openStream, post, rawSession, send, toolCall } from '../../support/raw-http.ts';
import { activity, echo, untilEvent } from './activity.ts';

const TOKENS = { ada: 'ada-has-a-long-token', bob: 'bob-has-a-long-token' };
const ADA = { authorization: `Bearer ${TOKENS.ada}` };
const BOB = { authorization: `Bearer ${TOKENS.bob}` };

/** Whatever happens in one session, the other must not hear, see or change. */
async function expectIsolation(mine: HubClient, other: HubClient): Promise<void> {
  await Promise.all([echo(mine, 'one'), echo(other, 'one')]);
  const listening = activity(other, 600);

  const execute = (tool: string, args: object) => mine.call('execute_tool', { server: 'one', tool, args });
  const asking = await execute('ask', { message: 'for my eyes' });
  const task = taskIdOf(asking);
  const sampling = await execute('sample', { prompt: 'for my model' });
  await execute('notify', { count: 2 });
  await execute('log', { count: 2, level: 'error' });
  const elicitation = asking.elicitations[0]?.requestId;
  const sample = sampling.samplings[0]?.requestId;
  expect([elicitation, sample]).toEqual([expect.any(String), expect.any(String)]);

  const silence = { triggers: [{ type: 'timeout' }], events: [] };
  expect(await listening).toEqual(silence);
  expect(await activity(other, 1)).toEqual(silence);
  const seen = async (tool: string, args: object = {}) => (await other.call(tool, { ...args })).body;
  expect(await seen('list_tasks', { include_completed: true })).toEqual({ tasks: [] });
  expect(await seen('get_elicitations')).toEqual({ elicitations: [] });
  expect(await seen('get_sampling_requests')).toEqual({ sampling_requests: [] });
  expect(await seen('get_notifications', { include_delivered: true })).toEqual({ notifications: [] });
  expect(await seen('get_logs')).toEqual({ logs: [] });
  expect(await seen('get_server_status', { server: 'one' })).toMatchObject({
    working_tasks: [],
    elicitations: [],
    sampling_requests: [],
  });

  for (const tool of ['get_task', 'get_task_result', 'cancel_task']) {
    expect(await other.call(tool, { task_id: task })).toMatchObject({ code: 'TOOL_ERR_TASK_NOT_FOUND', events: [] });
  }
  const stolen = { request_id: elicitation, action: 'accept', content: { name: 'Mallory' } };
  expect((await other.call('respond_to_elicitation', stolen)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  expect((await other.call('respond_to_sampling', { request_id: sample, content: 'x' })).code).toBe(
    'TOOL_ERR_REQUEST_NOT_FOUND',
  );

  const answered = await mine.call('respond_to_elicitation', { ...stolen, content: { name: 'Ada' } });
  expect(answered.samplings).toHaveLength(1);
  await mine.call('respond_to_sampling', { request_id: sample, content: 'fine' });
  expect((await mine.call('get_task_result', { task_id: task })).text).toBe('Hello Ada');
  expect((await mine.call('get_task_result', { task_id: taskIdOf(sampling) })).text).toContain('fine');
  const logs = (await mine.call('get_logs')).body['logs'];
  expect(logs).toHaveLength(2);
}

const PAIRS: [ClientKind, ClientKind][] = [
  ['v1', 'v1'],
  ['v2', 'v2'],
  ['v1', 'v2'],
  ['v1', 'modern'],
  ['modern', 'v2'],
];

test.each(PAIRS)('S-1: sessions of one user do not see each other (%s and %s)', async (mine, other) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  await expectIsolation(await hubOverHttp(url, mine), await hubOverHttp(url, other));
});

test.each<ClientKind>(['v1', 'v2', 'modern'])('S-1: clients over stdio do not see each other (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  await expectIsolation(await hubOverStdio(servers, {}, kind), await hubOverStdio(servers, {}, kind));
});

test('S-1, S-5: two principals without sessions have separate states', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } }, { auth: { tokens: TOKENS } });
  await expectIsolation(await hubOverHttp(url, 'modern', ADA), await hubOverHttp(url, 'modern', BOB));
  expect(gateway.sessions.map(({ principal }) => principal).toSorted()).toEqual(['ada', 'bob']);
});

test.each([
  { who: 'the same principal', settings: { auth: { tokens: TOKENS } }, headers: ADA },
  { who: 'the one local user', settings: {}, headers: {} },
])('S-5: modern clients of $who share their state', async ({ settings, headers }) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const first = await hubOverHttp(url, 'modern', headers);
  const asking = await first.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  await first.close();
  const second = await hubOverHttp(url, 'modern', headers);
  const { elicitations } = await second.call('list_tasks');
  expect(elicitations).toMatchObject([{ taskId: taskIdOf(asking) }]);
  const answer = { request_id: elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await second.call('respond_to_elicitation', answer);
  await untilEvent(second, 'task_completed', 'one');
  expect((await second.call('get_task_result', { task_id: taskIdOf(asking) })).text).toBe('Hello Ada');
});

test('X-2: the session id of another principal can be neither used nor deleted', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { auth: { tokens: TOKENS } });
  const mine = await rawSession(url, ADA);
  const stolen = { ...mine.headers, ...BOB };
  expect((await post(url, toolCall('list_tasks'), stolen)).status).toBe(404);
  expect((await openStream(url, { headers: { ...stolen, accept: 'text/event-stream' } })).status).toBe(404);
  expect((await send(url, { method: 'DELETE', headers: stolen })).status).toBe(404);
  expect((await post(url, toolCall('list_tasks'), { ...mine.headers, authorization: 'Bearer nobody' })).status).toBe(
    401,
  );
  expect((await mine.reply('list_tasks')).body).toEqual({ tasks: [] });
});
