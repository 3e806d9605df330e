import { describe, expect, test } from 'vitest';
import { textOf } from '../../../tests/e2e/direct/answered.ts';
import { LegacyWire } from '../../../tests/e2e/direct/legacy-wire.ts';
import { ModernWire } from '../../../tests/e2e/direct/modern-wire.ts';
import { soon } from '../../../tests/e2e/flows/watch.ts';
import { toolsOf } from '../../../tests/support/group-clients.ts';
import { takeApart, taskIdOf, type Json, type Reply } from '../../../tests/support/hub.ts';
import { PlayedServer, scriptedGroup, tool, type ScriptedGroup } from '../../../tests/support/scripted-group.ts';
import type { ScriptedCall } from '../../../tests/support/scripted-connection.ts';
import { HELPER_NAMES } from '../hub/about.ts';
import { HELPER_TOOLS } from '../hub/tools/all.ts';

const HELPERS = HELPER_TOOLS.map(({ name }) => name);

test('M-5: the names that are known before the tools are loaded match the loaded tools', () => {
  expect(HELPERS).toEqual([...HELPER_NAMES]);
});

const CALL_TIMEOUT_MS = 50_000;
const FORM = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};

async function setUp(settings: Json = {}): Promise<{ group: ScriptedGroup; one: PlayedServer; two: PlayedServer }> {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const one = new PlayedServer({ tools: [tool('work', { outputSchema }), tool('echo')] });
  one.tools['echo'] = (call) => call.answer('hello');
  const two = new PlayedServer({ tools: [tool('work')] });
  return { group: await scriptedGroup({ one, two }, { settings }), one, two };
}

/** A client that has no means of its own for tasks and questions. */
const plainClient = async ({ all }: ScriptedGroup): Promise<LegacyWire> => LegacyWire.open(all, { capabilities: {} });

const call = async (client: LegacyWire, name: string, args: Json = {}): Promise<Reply> =>
  takeApart(await client.call(name, args));

/** The call, once the server has it. */
async function begun({ connections }: PlayedServer): Promise<ScriptedCall> {
  const find = (): ScriptedCall | undefined => connections.flatMap(({ open }) => open).at(-1);
  await soon(find).toBeDefined();
  return find() as ScriptedCall;
}

describe('M-5: a client that declared neither tasks nor elicitation', () => {
  test('sees the helper tools after the tools of the servers', async () => {
    const { group } = await setUp();
    const client = await plainClient(group);
    expect(await toolsOf(client)).toEqual(['one__work', 'one__echo', 'two__work', ...HELPERS]);
    expect(HELPERS).toEqual(
      expect.arrayContaining(['get_task_result', 'await_activity', 'respond_to_elicitation', 'cancel_task']),
    );
    // Its SDK would refuse the news that a call has become a task.
    expect(JSON.stringify(await client.request('tools/list'))).not.toContain('outputSchema');
  });

  test('H-4: gets the result of a fast call unchanged', async () => {
    const { group } = await setUp();
    const client = await plainClient(group);
    expect(await client.call('one__echo')).toEqual({ content: [{ type: 'text', text: 'hello' }] });
    await toolsOf(client);
    expect(await client.call('one__echo')).toEqual({ content: [{ type: 'text', text: 'hello' }] });
  });

  test('H-3: gets a task for a slow call, and the result with get_task_result', async () => {
    const { group, one } = await setUp();
    const client = await plainClient(group);
    const calling = call(client, 'one__work', { a: 1 });
    const made = await begun(one);
    expect(made.outgoing).toMatchObject({ tool: 'work', args: { a: 1 } });
    group.clock.advance(CALL_TIMEOUT_MS);
    const taskId = taskIdOf(await calling);
    const result = { content: [{ type: 'text', text: 'done' }], structuredContent: { n: 1 } };
    const waiting = client.call('get_task_result', { task_id: taskId });
    made.end({ kind: 'result', result });
    expect(await waiting).toMatchObject(result);
    expect((await call(client, 'list_tasks', { include_completed: true })).body['tasks']).toHaveLength(1);
  });

  test('H-5: gets a question in the reply, and answers it with a tool', async () => {
    const { group, two } = await setUp();
    const client = await plainClient(group);
    const calling = call(client, 'two__work');
    const made = await begun(two);
    const answered = made.ask(FORM);
    const promoted = await calling;
    expect(promoted.elicitations).toMatchObject([{ server: 'two', message: 'two: Which size?' }]);
    const [{ requestId } = { requestId: '' }] = promoted.elicitations;
    const wrong = await call(client, 'respond_to_elicitation', {
      request_id: requestId,
      action: 'accept',
      content: {},
    });
    expect(wrong.isError).toBe(true);
    await call(client, 'respond_to_elicitation', { request_id: requestId, action: 'accept', content: { size: 'M' } });
    expect(await answered).toMatchObject({ action: 'accept', content: { size: 'M' } });
    made.answer('size M');
    expect(textOf(await client.call('get_task_result', { task_id: taskIdOf(promoted) }))).toBe('size M');
  });

  test('E-1, H-7: gets the event that a task ended once, with the next reply or while it waits', async () => {
    const { group, one } = await setUp();
    const client = await plainClient(group);
    const promoted = async (): Promise<ScriptedCall> => {
      const calling = call(client, 'one__work');
      const made = await begun(one);
      group.clock.advance(CALL_TIMEOUT_MS);
      await calling;
      return made;
    };
    (await promoted()).answer('done');
    const ended = await call(client, 'one__echo');
    expect(ended.events.map(({ type, server }) => [type, server])).toEqual([['task_completed', 'one']]);
    const made = await promoted();
    const waiting = call(client, 'await_activity');
    made.answer('done');
    const { triggers, events } = JSON.parse((await waiting).text) as Json;
    expect(JSON.stringify(events)).toContain('task_completed');
    expect(JSON.stringify([triggers, events])).not.toContain('server_connected');
    expect((await call(client, 'one__echo')).events).toEqual([]);
  });

  test('E-3: gets a notification on its stream, and not again as an event', async () => {
    const { group, one } = await setUp();
    const client = await plainClient(group);
    await toolsOf(client);
    const stream = await client.listen();
    one.tellChanged('tools');
    await stream.heard('notifications/tools/list_changed');
    expect((await call(client, 'one__echo')).events).toEqual([]);
  });

  test('T-4: finds the result of a call after its request timed out', async () => {
    const { group, one } = await setUp();
    const client = await plainClient(group);
    const stream = client.callStream('one__work');
    const made = await begun(one);
    group.clock.advance(1000);
    const open = await stream;
    await client.notify('notifications/cancelled', { requestId: open.id, reason: 'Request timed out' });
    made.answer('late');
    const found = async (): Promise<Json[]> =>
      (await call(client, 'list_tasks', { include_completed: true })).body['tasks'] as Json[];
    await soon(async () => (await found()).map(({ status }) => status)).toEqual(['completed']);
    const [task] = await found();
    expect(textOf(await client.call('get_task_result', { task_id: task?.['task_id'] }))).toBe('late');
  });
});

test('M-5, S-1: helper tools show no data of other clients and of servers outside the group', async () => {
  const secret = new PlayedServer({ tools: [tool('open')] });
  const one = new PlayedServer({ tools: [tool('echo')] });
  one.tools['echo'] = (each) => each.answer('hello');
  const settings = { groups: { public: { servers: ['one'] } } };
  const group = await scriptedGroup({ secret, one }, { settings });
  const asked = await plainClient(group);
  const calling = call(asked, 'secret__open');
  (await begun(secret)).ask(FORM).catch(() => {});
  expect((await calling).elicitations).toHaveLength(1);
  const other = await LegacyWire.open(`${group.url}/public`, { capabilities: {} });
  expect(await call(other, 'one__echo')).toMatchObject({ text: 'hello', elicitations: [] });
  expect((await call(other, 'list_tasks')).body).toEqual({ tasks: [] });
  expect((await call(other, 'get_elicitations')).body).toEqual({ elicitations: [] });
});

test('M-5, X-3: a call of a helper tool counts as one request towards the limits', async () => {
  const { group } = await setUp({ limits: { requestsPerSession: 1 } });
  const client = await plainClient(group);
  expect(textOf(await client.call('one__echo'))).toBe('hello');
  expect((await call(client, 'list_tasks')).body).toEqual({ tasks: [] });
});

describe('M-5: the setting all.helperTools', () => {
  const able = [
    ['elicitation', { elicitation: {} }],
    ['tasks', { tasks: { requests: { elicitation: { create: {} } } } }],
  ] as const;

  test.each(able)('auto: a client with %s does not get them', async (_what, capabilities) => {
    const { group, one } = await setUp();
    const client = await LegacyWire.open(group.all, { capabilities });
    expect(await toolsOf(client)).toEqual(['one__work', 'one__echo', 'two__work']);
    expect(JSON.stringify(await client.request('tools/list'))).toContain('outputSchema');
    expect(await client.error('tools/call', { name: 'list_tasks' })).toMatchObject({ code: -32602 });
    const calling = client.call('one__work');
    const made = await begun(one);
    group.clock.advance(CALL_TIMEOUT_MS);
    made.end({ kind: 'result', result: { content: [], structuredContent: { n: 1 } } });
    expect(await calling).toMatchObject({ structuredContent: { n: 1 } });
  });

  test('auto: a modern client does not get them', async () => {
    const { group } = await setUp();
    expect(await toolsOf(new ModernWire(group.all, { capabilities: {} }))).toHaveLength(3);
  });

  test('always: all clients get them, and slow calls stay open for clients that can wait', async () => {
    const { group, one } = await setUp({ all: { helperTools: 'always' } });
    const clients = [await LegacyWire.open(group.all), new ModernWire(group.all)];
    for (const client of clients) {
      expect(await toolsOf(client)).toEqual(['one__work', 'one__echo', 'two__work', ...HELPERS]);
      expect(takeApart(await client.call('list_tasks')).body).toEqual({ tasks: [] });
    }
    const [legacy] = clients;
    const calling = legacy?.call('one__work');
    const made = await begun(one);
    group.clock.advance(CALL_TIMEOUT_MS);
    made.answer('done');
    expect(textOf((await calling) ?? {})).toBe('done');
  });

  test('never: no client gets them, and a slow call stays open', async () => {
    const { group, one } = await setUp({ all: { helperTools: 'never' } });
    const client = await plainClient(group);
    expect(await toolsOf(client)).toHaveLength(3);
    const calling = client.call('one__work');
    const made = await begun(one);
    group.clock.advance(CALL_TIMEOUT_MS);
    made.answer('done');
    expect(textOf(await calling)).toBe('done');
  });
});
