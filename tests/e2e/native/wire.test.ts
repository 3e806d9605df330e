import {
  CallToolRequestV1Schema,
  CancelTaskRequestV1Schema,
  GetTaskRequestV1Schema,
  GetTaskResultRequestV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import {
  CancelTaskRequestV2Schema,
  ClientTaskCapabilityEnvelopeV2Schema,
  GetTaskRequestV2Schema,
  InputResponsesV2Schema,
  UpdateTaskRequestV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { InitializeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import type { Message } from '../../servers/tasks/state.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio } from '../../support/servers.ts';
import { settle, soon } from '../flows/watch.ts';
import { newRecord } from './ways.ts';

interface Heard {
  config: Servers[string];
  /** All that the gateway said to the server. */
  received: () => Promise<Message[]>;
}

const DOORS = ['http', 'stdio'] as const;

async function heardByV1(door: (typeof DOORS)[number]): Promise<Heard> {
  const record = await newRecord();
  if (door === 'stdio') return { config: tasksV1Stdio({ TEST_RECORD: record.file }), received: record.received };
  const { url, state } = owned(await startTasksV1Http());
  return { config: { url }, received: async () => state.received.map(({ message }) => message) };
}

async function heardByV2(door: (typeof DOORS)[number]): Promise<Heard> {
  const record = await newRecord();
  if (door === 'stdio') return { config: tasksV2Stdio({ TEST_RECORD: record.file }), received: record.received };
  const { url, state } = owned(await startTasksV2Http());
  return { config: { url }, received: async () => state.received.map(({ message }) => message) };
}

/** Everything that can happen in a call. */
async function everything(hub: HubClient): Promise<void> {
  const execute = (tool: string, args: Json = {}, more: Json = {}) =>
    hub.call('execute_tool', { server: 'one', tool, args, ...more });
  await settle(hub);
  await execute('rich');
  await execute('required');
  await execute('rpc_error');
  const asked = await execute('ask');
  const given = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', given);
  await hub.call('get_task_result', { task_id: taskIdOf(asked) });
  const sampled = await execute('sample', { prompt: 'x' });
  const content = [{ type: 'text', text: 'something' }];
  const answer = { request_id: sampled.samplings[0]?.requestId, model: 'some-model', role: 'assistant', content };
  await hub.call('respond_to_sampling', answer);
  await hub.call('get_task_result', { task_id: taskIdOf(sampled) });
  const slow = await execute('slow', { ms: 600_000 }, { timeout_ms: 100, task_ttl_ms: 1_234_567 });
  await hub.call('cancel_task', { task_id: taskIdOf(slow) });
}

function check(messages: Message[], schemas: Record<string, z.ZodType>): void {
  for (const [method, schema] of Object.entries(schemas)) {
    const sent = messages.filter((message) => message.method === method);
    expect(sent, `no ${method} was sent`).not.toEqual([]);
    for (const message of sent) schema.parse(message);
  }
}

const keysOf = (messages: Message[], method: string): string[] =>
  [
    ...new Set(
      messages.filter((message) => message.method === method).flatMap(({ params = {} }) => Object.keys(params)),
    ),
  ].toSorted();

test.each(DOORS)('B-6: messages about core tasks match the 2025-11-25 schemas (%s)', async (door) => {
  const { config, received } = await heardByV1(door);
  const { url } = await httpGateway({ one: config });
  await everything(await hubOverHttp(url));
  await soon(async () => (await received()).map(({ method }) => method)).toContain('tasks/cancel');
  const messages = await received();
  check(messages, {
    'tools/call': CallToolRequestV1Schema,
    'tasks/get': GetTaskRequestV1Schema,
    'tasks/result': GetTaskResultRequestV1Schema,
    'tasks/cancel': CancelTaskRequestV1Schema,
    initialize: InitializeRequestSchema,
  });
  const calls = messages.filter(({ method }) => method === 'tools/call');
  for (const { params } of calls) {
    const plain = params?.['name'] === 'echo';
    expect(params).toEqual({
      name: params?.['name'],
      arguments: params?.['arguments'],
      _meta: { progressToken: expect.any(String) as unknown },
      ...(!plain && { task: { ttl: expect.any(Number) as unknown } }),
    });
  }
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    expect(keysOf(messages, method)).toEqual(['taskId']);
  // Only what the other generation has, and nothing of the kind here.
  expect(messages.map(({ method }) => method)).not.toContain('tasks/update');
  const opening = messages.find(({ method }) => method === 'initialize');
  expect(opening?.params?.['capabilities']).toMatchObject({
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    tasks: { requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } },
  });
  // A task is cancelled by its name, and never by the request that made it.
  const made = new Set(calls.map(({ id }) => id));
  for (const { method, params } of messages) {
    if (method === 'notifications/cancelled') expect(made.has(params?.['requestId'])).toBe(false);
  }
});

test.each(DOORS)('B-6: messages about extension tasks match the schemas of the extension (%s)', async (door) => {
  const { config, received } = await heardByV2(door);
  const { url } = await httpGateway({ one: config });
  await everything(await hubOverHttp(url));
  await soon(async () => (await received()).map(({ method }) => method)).toContain('tasks/cancel');
  const messages = await received();
  check(messages, {
    'tasks/get': GetTaskRequestV2Schema,
    'tasks/update': UpdateTaskRequestV2Schema,
    'tasks/cancel': CancelTaskRequestV2Schema,
  });
  expect(keysOf(messages, 'tools/call')).toEqual(['_meta', 'arguments', 'name']);
  expect(keysOf(messages, 'tasks/get')).toEqual(['_meta', 'taskId']);
  expect(keysOf(messages, 'tasks/cancel')).toEqual(['_meta', 'taskId']);
  expect(keysOf(messages, 'tasks/update')).toEqual(['_meta', 'inputResponses', 'taskId']);
  for (const { method, params } of messages) {
    if (method === 'tasks/update') InputResponsesV2Schema.parse(params?.['inputResponses']);
    expect(['tasks/result', 'tasks/list']).not.toContain(method);
    if (method === undefined || method.startsWith('notifications/')) continue;
    const meta = (params?.['_meta'] ?? {}) as Json;
    const capabilities = meta['io.modelcontextprotocol/clientCapabilities'];
    ClientTaskCapabilityEnvelopeV2Schema.parse(capabilities);
  }
});
