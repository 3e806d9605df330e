import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  StreamableHTTPClientTransport as ModernHttp,
  type Client as V2Client,
  type StandardSchemaV1,
  type Transport as V2Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { CreateTaskResultV2Schema, DetailedTaskV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema, ResultSchema, TaskStatusNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../support/gateway.ts';
import { owned } from '../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio } from '../support/servers.ts';
import { richResult } from './shared/rich.ts';
import { callRaw, connectModern, connectV1, textOf } from './smoke-clients.ts';
import { startTasksV1Http } from './tasks-v1-http.ts';
import { startTasksV2Http } from './tasks-v2-http.ts';
import { requestsOf } from './tasks/state.ts';

type Json = Record<string, unknown>;

async function record(file: string): Promise<Json[]> {
  return (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json);
}

const v1Doors: Record<string, () => Promise<Transport>> = {
  HTTP: async () => new StreamableHTTPClientTransport(new URL(owned(await startTasksV1Http()).url)),
  stdio: async () => new StdioClientTransport({ ...tasksV1Stdio(), stderr: 'pipe' }),
};

/** The v1 client's own way through a task; what it saw of it, and how it ended. */
async function followV1(client: V1Client, name: string, args: Json = {}) {
  const seen: string[] = [];
  const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  for await (const message of stream) {
    if (message.type === 'taskCreated' || message.type === 'taskStatus') seen.push(message.task.status);
    else return { seen, ...message };
  }
  throw new Error('the stream ended without an end');
}

async function createV1(client: V1Client, name: string, args: Json = {}): Promise<string> {
  const params = { name, arguments: args, task: {} };
  const { task } = await client.request({ method: 'tools/call', params }, ResultSchema);
  return (task as { taskId: string }).taskId;
}

describe.each(Object.entries(v1Doors))('2025-11-25 tasks over %s, v1 client', (_name, open) => {
  it('runs some tools as tasks', async () => {
    const { client } = await connectV1(await open());
    const { tools } = await client.listTools();
    const support = new Map(tools.map(({ name, execution }) => [name, execution?.taskSupport]));
    expect([support.get('slow'), support.get('required'), support.get('echo')]).toEqual([
      'optional',
      'required',
      'forbidden',
    ]);
    expect(client.getServerCapabilities()?.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
    const slow = await followV1(client, 'slow', { ms: 60, text: 'there' });
    expect(slow.seen).toContain('working');
    expect(slow).toMatchObject({ type: 'result', result: { content: [{ text: 'there' }] } });
    expect(await followV1(client, 'required')).toMatchObject({ type: 'result' });
    // That is how the SDK tells a protocol error of a tool.
    expect(JSON.stringify(await callRaw(client, 'required'))).toContain('-32601');
  });

  it('asks questions and uses the answers', async () => {
    const { client } = await connectV1(await open());
    for (const [tool, answer] of [
      ['ask', 'Hello Ada'],
      ['ask_twice', 'Hello Ada, 36'],
      ['ask_both', 'Hello Ada, 36'],
    ] as const) {
      expect(await followV1(client, tool)).toMatchObject({ type: 'result', result: { content: [{ text: answer }] } });
    }
    const sampled = await followV1(client, 'sample', { prompt: 'hi' });
    expect(JSON.stringify(sampled)).toContain('sampled');
  });

  it('ends in an error result or a protocol error', async () => {
    const { client } = await connectV1(await open());
    const result = (taskId: string) => client.experimental.tasks.getTaskResult(taskId, ResultSchema);
    expect(await result(await createV1(client, 'fail'))).toMatchObject({ isError: true });
    await expect(result(await createV1(client, 'rpc_error'))).rejects.toMatchObject({
      code: -32011,
      data: { retryAfter: 7 },
    });
    const { _meta, ...rich } = await result(await createV1(client, 'rich'));
    const { _meta: meta, ...expected } = richResult();
    expect(rich).toEqual(expected);
    expect(_meta).toMatchObject(meta);
  });

  it('notifies of its status and progress', async () => {
    const { client } = await connectV1(await open());
    const told: unknown[] = [];
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void told.push(params.statusMessage));
    await followV1(client, 'slow', { ms: 60, steps: 3 });
    await expect.poll(() => told).toEqual(expect.arrayContaining(['step 1', 'step 2', 'step 3']));
  });
});

describe('2025-11-25 tasks over HTTP', () => {
  it('keeps v1 tasks and questions over a restart, and can drop them', async () => {
    const first = owned(await startTasksV1Http());
    const before = await connectV1(new StreamableHTTPClientTransport(new URL(first.url)), { silent: true });
    const held = await createV1(before.client, 'hold', { text: 'kept' });
    const asking = await createV1(before.client, 'ask');
    // The question is delivered to a client that will not answer it.
    const unanswered = expect(before.client.experimental.tasks.getTaskResult(asking, ResultSchema)).rejects.toThrow();
    await expect.poll(() => requestsOf(first.state, 'tasks/result').length).toBe(1);
    await first.stop();
    await before.client.close();
    await unanswered;

    const second = owned(await startTasksV1Http({ port: first.port, state: first.state }));
    // Sockets to the old listener may still be in the pool of `fetch`.
    const { client } = await vi.waitFor(
      () => connectV1(new StreamableHTTPClientTransport(new URL(second.url))),
      10_000,
    );
    first.state.release();
    expect(textOf(await client.experimental.tasks.getTaskResult(held, ResultSchema))).toBe('kept');
    expect(textOf(await client.experimental.tasks.getTaskResult(asking, ResultSchema))).toBe('Hello Ada');
    second.state.forget();
    await expect(client.experimental.tasks.getTask(held)).rejects.toMatchObject({ code: -32602 });
    expect(second.state.errors).toEqual([]);
  });

  it('records a cancellation, and can drop its sessions', async () => {
    const server = owned(await startTasksV1Http({ pollMs: 33, notifies: false }));
    const { client } = await connectV1(new StreamableHTTPClientTransport(new URL(server.url)));
    const taskId = await createV1(client, 'hold', { text: 'me' });
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ pollInterval: 33 });
    await client.experimental.tasks.cancelTask(taskId);
    expect(server.state.cancelled).toEqual(['hold:me']);
    await server.dropSessions();
    await expect(client.experimental.tasks.getTask(taskId)).rejects.toThrow(/404|not found/i);
  });
});

describe('2025-11-25 tasks over stdio', () => {
  it('records received messages and cancelled tasks', async () => {
    const file = join(await temporaryFolder(), 'record');
    const { client } = await connectV1(
      new StdioClientTransport({ ...tasksV1Stdio({ TEST_RECORD: file, TEST_POLL_MS: '44' }), stderr: 'pipe' }),
    );
    const taskId = await createV1(client, 'slow', { ms: 60_000, text: 'me' });
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ pollInterval: 44 });
    const notes = await record(file);
    expect(notes).toContainEqual({ cancelled: 'slow:me' });
    expect(notes.map(({ received }) => (received as Json | undefined)?.['method'])).toContain('tasks/cancel');
  });
});

const ANY: StandardSchemaV1<unknown, Json> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Json }) },
};

interface Modern {
  /** The flat task that `tools/call` answers with, which the SDK's client does not let through. */
  create: (name: string, args?: Json) => Promise<Json & { taskId: string }>;
  request: (method: string, params: Json) => Promise<Json>;
  /** Polls until the task has that status. */
  until: (taskId: string, status: string) => Promise<Json>;
  client: V2Client;
}

async function modern(transport: V2Transport): Promise<Modern> {
  const client = await connectModern(transport, { 'io.modelcontextprotocol/tasks': {} });
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const result = 'result' in message ? message.result : {};
    if (result['resultType'] !== 'task') return deliver?.(message, extra);
    return deliver?.({ ...message, result: { resultType: 'complete', content: [], task: result } } as never, extra);
  };
  const request = (method: string, params: Json) => client.request({ method, params }, ANY);
  return {
    client,
    request,
    create: async (name, args = {}) => {
      const { task } = await request('tools/call', { name, arguments: args });
      return CreateTaskResultV2Schema.parse(task);
    },
    until: async (taskId, status) => {
      await expect.poll(() => request('tasks/get', { taskId })).toMatchObject({ status });
      const { resultType: _resultType, ...task } = await request('tasks/get', { taskId });
      DetailedTaskV2Schema.parse(task);
      return task;
    },
  };
}

const v2Doors: Record<string, () => Promise<V2Transport>> = {
  HTTP: async () => new ModernHttp(new URL(owned(await startTasksV2Http()).url)),
  stdio: async () => new ModernStdio({ ...tasksV2Stdio(), stderr: 'pipe' }),
};

describe.each(Object.entries(v2Doors))('tasks extension over %s, v2 client', (_name, open) => {
  it('runs tools as tasks for clients with the extension', async () => {
    const { client, create, until } = await modern(await open());
    expect(client.getServerCapabilities()?.extensions).toEqual({ 'io.modelcontextprotocol/tasks': {} });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('round_then_task');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
    const { taskId, pollIntervalMs } = await create('slow', { ms: 60, text: 'there', steps: 2 });
    expect(pollIntervalMs).toBe(20);
    expect(await until(taskId, 'completed')).toMatchObject({
      statusMessage: 'step 2',
      result: { content: [{ text: 'there' }] },
    });
    const { taskId: rich } = await create('rich');
    expect((await until(rich, 'completed'))['result']).toEqual({ resultType: 'complete', ...richResult() });
    await until((await create('fail')).taskId, 'completed');
    expect(await until((await create('rpc_error')).taskId, 'failed')).toMatchObject({
      error: { code: -32011, message: 'quota used up', data: { retryAfter: 7 } },
    });
    await expect(create('nothing')).rejects.toMatchObject({ code: -32602 });
  });

  it('asks two questions at once and accepts answers one by one', async () => {
    const { create, until, request } = await modern(await open());
    const { taskId } = await create('ask_both');
    const { inputRequests } = await until(taskId, 'input_required');
    const [name, age] = Object.keys(inputRequests as Json);
    const answer = (key: string | undefined, content: Json) =>
      request('tasks/update', { taskId, inputResponses: { [String(key)]: { action: 'accept', content } } });
    await answer(name, { name: 'Ada' });
    expect(Object.keys((await until(taskId, 'input_required'))['inputRequests'] as Json)).toEqual([age]);
    await answer(age, { age: 36 });
    expect(await until(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Ada, 36' }] } });
  });

  it('asks in a round first, and then as a task', async () => {
    const { create, until, request } = await modern(await open());
    // The client answers the round by itself.
    const { taskId } = await create('round_then_task');
    const { inputRequests } = await until(taskId, 'input_required');
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests as Json).map((key) => [key, { action: 'accept', content: { age: 36 } }]),
    );
    await request('tasks/update', { taskId, inputResponses });
    expect(await until(taskId, 'completed')).toMatchObject({
      result: { content: [{ text: 'Hello Ada, 36, after the first round' }] },
    });
  });

  it('is available only to clients that declare it', async () => {
    const client = await connectModern(await open());
    expect(textOf(await client.callTool({ name: 'slow', arguments: { ms: 1 } }))).toBe('done');
    await expect(client.callTool({ name: 'required' })).rejects.toMatchObject({ code: -32021 });
    const asked = client.request({ method: 'tasks/get', params: { taskId: 'x' } }, ANY);
    await expect(asked).rejects.toMatchObject({ code: -32021 });
  });

  it('can be cancelled with tasks/cancel', async () => {
    const { create, until, request } = await modern(await open());
    const { taskId } = await create('slow', { ms: 60_000 });
    await request('tasks/cancel', { taskId });
    await until(taskId, 'cancelled');
    await request('tasks/cancel', { taskId });
    await expect(request('tasks/get', { taskId: 'x' })).rejects.toMatchObject({ code: -32602 });
  });
});

describe('tasks extension over HTTP', () => {
  it('keeps tasks and questions over a restart, and can drop them', async () => {
    const first = owned(await startTasksV2Http());
    const before = await modern(new ModernHttp(new URL(first.url)));
    const { taskId } = await before.create('ask');
    const held = await before.create('hold', { text: 'kept' });
    await first.stop();
    const second = owned(await startTasksV2Http({ port: first.port, state: first.state }));
    const { until, request } = await vi.waitFor(() => modern(new ModernHttp(new URL(second.url))), 10_000);
    second.state.release();
    await until(held.taskId, 'completed');
    const { inputRequests } = await until(taskId, 'input_required');
    const [key] = Object.keys(inputRequests as Json);
    const response = { action: 'accept', content: { name: 'Ada' } };
    await request('tasks/update', { taskId, inputResponses: { [String(key)]: response } });
    await until(taskId, 'completed');
    expect(second.state.cancelled).toEqual([]);
    expect(requestsOf(second.state, 'tasks/update')).toHaveLength(1);
    second.state.forget();
    await expect(request('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
  });
});
