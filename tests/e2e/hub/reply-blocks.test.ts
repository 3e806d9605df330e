import { expect, test } from 'vitest';
import { HUB_TOOLS } from '../../../src/north/hub/tools/all.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

/** One call of each tool; some of them fail, and their replies must end like the others. */
const CALLS: Record<string, Json> = {
  add_server: { name: 'nowhere', url: 'http://127.0.0.1:1/' },
  remove_server: { name: 'unknown' },
  list_servers: {},
  get_server_status: { server: 'one' },
  list_tools: {},
  execute_tool: { server: 'one', tool: 'echo', args: { text: 'x' } },
  list_resources: {},
  list_resource_templates: {},
  read_resource: { server: 'one', uri: 'test://text' },
  subscribe_resource: { server: 'one', uri: 'test://watched' },
  unsubscribe_resource: { server: 'one', uri: 'test://watched' },
  list_prompts: {},
  get_prompt: { server: 'one', name: 'plain' },
  get_notifications: {},
  get_logs: {},
  get_sampling_requests: {},
  respond_to_sampling: { request_id: 'unknown', content: 'x' },
  get_elicitations: {},
  respond_to_elicitation: { request_id: 'unknown', action: 'decline' },
  list_tasks: {},
  get_task: { task_id: 'unknown' },
  get_task_result: { task_id: 'unknown' },
  cancel_task: { task_id: 'unknown' },
  await_activity: { timeout_ms: 0 },
};

const FAILING = new Set(
  'add_server remove_server respond_to_sampling respond_to_elicitation get_task get_task_result cancel_task'.split(' '),
);

/** A client whose server asks for a name and for a model answer. */
async function withQuestions(kind: ClientKind): Promise<{ hub: HubClient; gateway: TestGateway }> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(gateway.url, kind);
  await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who is it?' } });
  await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  return { hub, gateway };
}

test.each(KINDS)(
  'H-5, E-1: every reply, also an error, ends with events and pending_client_action (%s)',
  async (kind) => {
    const { hub, gateway } = await withQuestions(kind);
    const [session] = gateway.gateway.sessions;
    expect(Object.keys(CALLS).toSorted()).toEqual(HUB_TOOLS.map(({ name }) => name).toSorted());
    for (const [tool, args] of Object.entries(CALLS)) {
      session?.events.add('server_added', 'mark', { before: tool });
      const reply = await hub.call(tool, args);
      expect(reply.isError, `${tool}: ${reply.text}`).toBe(FAILING.has(tool));
      const last = JSON.parse(String(reply.raw.content.at(-1)?.['text'])) as Json;
      expect(Object.keys(last), tool).toEqual(['pending_client_action']);
      expect(reply.elicitations.map(({ message }) => message)).toEqual(['Who is it?']);
      expect(reply.samplings).toHaveLength(1);
      if (tool === 'await_activity') {
        // Its own body tells the events.
        expect(reply.events).toEqual([]);
        expect(JSON.stringify(reply.body['events'])).toContain('"before":"await_activity"');
        continue;
      }
      const before = JSON.parse(String(reply.raw.content.at(-2)?.['text'])) as Json;
      expect(Object.keys(before), tool).toEqual(['events_since_last_response']);
      expect(reply.events.map(({ data }) => data)).toContainEqual({ before: tool });
    }
  },
);

test('H-5: pending_client_action contains everything needed to answer', async () => {
  const { hub } = await withQuestions('v1');
  const { task_id: urlTask } = (
    await hub.call('execute_tool', { server: 'one', tool: 'ask_url', args: { url: 'https://example.com/sign-in' } })
  ).body['proxy_task'] as Json;
  const { elicitations, samplings } = await hub.call('list_tasks');
  const [form, link] = elicitations;
  const [sampling] = samplings;
  expect(form).toMatchObject({
    requestId: expect.stringMatching(/^[0-9A-Z]{26}$/),
    server: 'one',
    message: 'Who is it?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    taskId: expect.any(String),
  });
  expect(link).toMatchObject({
    server: 'one',
    message: 'Please sign in',
    mode: 'url',
    url: 'https://example.com/sign-in',
    elicitationId: expect.any(String),
    taskId: urlTask,
  });
  expect(sampling).toMatchObject({
    requestId: expect.stringMatching(/^[0-9A-Z]{26}$/),
    server: 'one',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }], maxTokens: 64 },
  });

  const answers = [
    await hub.call('respond_to_elicitation', {
      request_id: form?.requestId,
      action: 'accept',
      content: { name: 'Ada' },
    }),
    await hub.call('respond_to_elicitation', { request_id: link?.requestId, action: 'accept' }),
    await hub.call('respond_to_sampling', { request_id: sampling?.requestId, content: 'hi', model: 'm' }),
  ];
  for (const answer of answers) expect(answer.isError, answer.text).toBe(false);
  const greeted = await hub.call('get_task_result', { task_id: form?.taskId });
  expect(greeted.text).toBe('Hello Ada');
  expect((await hub.call('get_task_result', { task_id: urlTask })).text).toBe('signed in');
  const sampled = await hub.call('get_task_result', { task_id: sampling?.taskId });
  expect(JSON.parse(sampled.text)).toMatchObject({ model: 'm', content: { type: 'text', text: 'hi' } });
});

test.each(KINDS)('H-4, H-5: a reply without events and questions has no extra blocks (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  await hub.call('list_tools');
  const { raw } = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  expect(raw.content).toEqual([{ type: 'text', text: 'x' }]);
});

test.each(KINDS)(
  'H-5, E-1: a result with structuredContent carries no events, because some clients show only that (%s)',
  async (kind) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ one: { url: server.url } });
    const hub = await hubOverHttp(url, kind);
    await hub.call('list_tools');
    const rich = { server: 'one', tool: 'rich' };
    gateway.sessions[0]?.events.add('server_added', 'mark', {});
    const { raw } = await hub.call('execute_tool', rich);
    expect(raw['structuredContent']).toBeDefined();
    expect(JSON.stringify(raw.content)).not.toContain('events_since_last_response');
    let task_id: string | undefined;
    // The result may overtake the time-out.
    while (task_id === undefined) {
      const { raw: asTask } = await hub.call('execute_tool', { ...rich, timeout_ms: 0 });
      task_id = /task (\w+)/.exec(String(asTask.content[0]?.['text']))?.[1];
    }
    gateway.sessions[0]?.events.add('server_added', 'another mark', {});
    const result = await hub.call('get_task_result', { task_id });
    expect(result.raw['structuredContent']).toBeDefined();
    expect(result.events).toEqual([]);
    // They are still there for the next reply that can show them.
    const { events } = await hub.call('list_tasks');
    expect(events.map(({ type, server: of }) => [type, of])).toEqual([
      ['task_completed', 'one'],
      ['server_added', 'another mark'],
    ]);
  },
);

test('H-5: pending_client_action is added to a result with structuredContent', async () => {
  const { hub } = await withQuestions('v1');
  const { elicitations, raw } = await hub.call('execute_tool', { server: 'one', tool: 'rich' });
  expect(raw['structuredContent']).toBeDefined();
  expect(elicitations).toHaveLength(1);
});
