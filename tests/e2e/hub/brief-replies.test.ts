/** Replies of the hub say everything once. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { awaitActivity, flat, soon } from '../flows/watch.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const ASK = { server: 'one', tool: 'ask', args: { message: 'What is your name?' } };
const SLOW = { server: 'one', tool: 'slow', args: { ms: 600_000, text: 'x' }, timeout_ms: 0 };

async function setup(kind: ClientKind = 'v1'): Promise<HubClient> {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  return hubOverHttp(url, kind);
}

const textOf = ({ raw }: Reply): string => raw.content.map(({ text }) => text).join('\n');
const times = (reply: Reply, part: string): number => textOf(reply).split(part).length - 1;

test.each(KINDS)('H-5, H-3: a reply contains its question and its task once in full (%s)', async (kind) => {
  const hub = await setup(kind);
  const reply = await hub.call('execute_tool', ASK);
  expect(times(reply, 'What is your name?')).toBe(1);
  expect(times(reply, 'requestedSchema')).toBe(1);
  expect(times(reply, `"task_id":"${taskIdOf(reply)}"`)).toBe(1);
  const [question] = reply.elicitations;
  expect(reply.body['pending_on_server']).toEqual({
    tasks: [],
    elicitations_for_server: [{ requestId: question?.requestId, server: 'one' }],
  });
  expect(reply.events).toEqual([]);
  expect(textOf(reply).length).toBeLessThan(1000);
  // And it counts as told: a client that waits gets neither again.
  const activity = await awaitActivity(hub, { timeout_ms: 100 });
  expect(activity).toMatchObject({ triggers: [{ type: 'timeout' }], events: [] });
});

test('H-5: a reply contains its sampling request once', async () => {
  const reply = await (
    await setup()
  ).call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  expect(times(reply, 'Say hi')).toBe(1);
  expect(reply.samplings).toHaveLength(1);
  expect(reply.events).toEqual([]);
});

test('H-3: a reply lists other tasks of the server in brief', async () => {
  const hub = await setup();
  const first = taskIdOf(await hub.call('execute_tool', SLOW));
  const reply = await hub.call('execute_tool', SLOW);
  expect(reply.body['pending_on_server']).toEqual({
    tasks: [{ task_id: first, status: 'working', tool: 'slow' }],
    elicitations_for_server: [],
  });
  expect(reply.events).toEqual([]);
  expect(textOf(reply).length).toBeLessThan(600);
});

test('H-5: a question that came between two replies is in the next reply once', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await hub.call('execute_tool', { ...ASK, timeout_ms: 0 });
  await soon(() => gateway.sessions[0]?.interactions.size).toBe(1);
  const reply = await hub.call('list_servers');
  expect(times(reply, 'What is your name?')).toBe(1);
  expect(times(reply, String(reply.elicitations[0]?.requestId))).toBe(1);
  // A task that the reply does not show is still told of by its event.
  await hub.call('execute_tool', SLOW);
  gateway.sessions[0]?.events.add('task_created', 'one', { taskId: 'another' });
  const { events } = await hub.call('list_servers');
  expect(events.map(({ type, data }) => [type, data])).toEqual([['task_created', { taskId: 'another' }]]);
});

test('H-7: await_activity names a question in its event and shows it in full in pending_client_action', async () => {
  const hub = await setup();
  const waiting = hub.call('await_activity', { timeout_ms: 30_000 });
  await hub.call('execute_tool', { ...ASK, args: { message: `What? ${'x'.repeat(1000)}` }, timeout_ms: 0 });
  let reply = await waiting;
  while (!JSON.stringify(reply.body['events']).includes('elicitation_request')) {
    reply = await hub.call('await_activity', { timeout_ms: 30_000 });
  }
  const [question] = reply.elicitations;
  const [group] = reply.body['events'] as { events: { type: string; data: Json }[] }[];
  expect(group?.events.find(({ type }) => type === 'elicitation_request')?.data).toEqual({
    requestId: question?.requestId,
  });
  const { elicitations } = reply.body['pending_client'] as { elicitations: Json[] };
  expect(elicitations).toMatchObject([{ requestId: question?.requestId, server: 'one' }]);
  expect(String(elicitations[0]?.['message'])).toMatch(/^What\? x+…/);
  expect(times(reply, 'x'.repeat(1000))).toBe(1);
});

test.each(KINDS)('H-5, S-3: server_connected is reported only by await_activity (%s)', async (kind) => {
  const hub = await setup(kind);
  for (const tool of ['list_tools', 'list_servers', 'list_tasks']) {
    const { events } = await hub.call(tool);
    expect(events.map(({ type }) => type)).toEqual([]);
  }
  const other = await setup(kind);
  const activity = await awaitActivity(other);
  expect(flat(activity).map(({ type }) => type)).toEqual(['server_connected']);
});

test.each(KINDS)('H-5, E-1: server_connected is not lost with a reply that does not contain it (%s)', async (kind) => {
  const { url } = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url }, two: { url } });
  const hub = await hubOverHttp(gateway.url, kind);
  await hub.call('list_tasks');
  const session = (): (typeof gateway.gateway.sessions)[number] | undefined => gateway.gateway.sessions[0];
  await soon(() => ['one', 'two'].map((name) => session()?.connections.find(name)?.status.state)).toEqual([
    'connected',
    'connected',
  ]);
  expect((await hub.call('list_tasks')).events).toEqual([]);
  // A result of a server says that it was reached, and nothing of the other one.
  await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  const activity = await awaitActivity(hub);
  expect(activity.triggers).toEqual([{ type: 'immediate' }]);
  expect(flat(activity).map(({ type, server }) => [type, server])).toEqual([['server_connected', 'two']]);
});

test.each(KINDS)('H-8, H-11: list_tools has a brief form without schemas (%s)', async (kind) => {
  const hub = await setup(kind);
  const full = await hub.call('list_tools');
  const brief = await hub.call('list_tools', { brief: true, pattern: '*' });
  const tools = brief.body['tools'] as Json[];
  expect(tools).toHaveLength((full.body['tools'] as Json[]).length);
  expect(tools).toContainEqual({ name: 'echo', server: 'one', description: 'Returns the text it was given' });
  for (const tool of tools) {
    expect(Object.keys(tool).toSorted().join()).toMatch(/^(description,)?name,server$/);
    expect(JSON.stringify(tool['description'] ?? '').length).toBeLessThanOrEqual(122);
  }
  expect(textOf(brief).length).toBeLessThan(textOf(full).length / 2);
});
