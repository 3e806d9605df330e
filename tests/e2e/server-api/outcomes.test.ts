import { setTimeout as delay } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  createTaskServer,
  QuestionError,
  type TaskServerOptions,
  type ToolDefinition,
} from '../../../src/server/index.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { send } from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';
import { LegacyWire, modern } from './wire.ts';

async function serve(tools: Record<string, ToolDefinition>, more: Partial<TaskServerOptions> = {}): Promise<string> {
  return owned(createTaskServer({ name: 'app', version: '1.0.0', ...more, tools })).listen();
}

/** What a tool that ends like this gives to a client of either era. */
async function outcomes(run: ToolDefinition['run'], args: Json = {}): Promise<Json[]> {
  const inputSchema = { type: 'object', properties: { count: { type: 'integer' } } };
  const url = await serve({ tool: { inputSchema, run } });
  const params = { name: 'tool', arguments: args };
  const legacy = await LegacyWire.open(url);
  const { resultType, _meta, ...result } = await modern(url, 'tools/call', params);
  expect(resultType).toBe('complete');
  expect(_meta).toEqual({ 'io.modelcontextprotocol/serverInfo': { name: 'app', version: '1.0.0' } });
  return [await legacy.request('tools/call', params), result];
}

const both = (result: Json): Json[] => [result, result];

test('D-1: a result is returned unchanged, and a text as text content', async () => {
  const result = { content: [{ type: 'text', text: 'one' }], structuredContent: { count: 1 }, vendor: { field: 1 } };
  expect(await outcomes(async () => result)).toEqual(both(result));
  expect(await outcomes(() => 'one')).toEqual(both({ content: [{ type: 'text', text: 'one' }] }));
});

test('D-1: a thrown error becomes a result with isError', async () => {
  const failing = async (): Promise<never> => {
    throw new Error('sold out');
  };
  const sorry = { content: [{ type: 'text', text: 'sold out' }], isError: true };
  expect(await outcomes(failing)).toEqual(both(sorry));
  const command = async (): Promise<string> => (await promisify(execFile)('false')).stdout;
  expect(await outcomes(command)).toMatchObject(both({ isError: true }));
});

test('D-1: an error with a JSON-RPC code becomes an error response', async () => {
  const failing = async (): Promise<never> => {
    throw Object.assign(new Error('sold out'), { code: -32050, data: { until: 'Monday' } });
  };
  await expect(outcomes(failing)).rejects.toThrow('-32050 sold out');
});

test('D-1: arguments that do not match the input schema do not reach the handler', async () => {
  const reached: Json[] = [];
  const run = (args: Json): string => `${reached.push(args)}`;
  const [legacy, other] = await outcomes(run, { count: 'many' });
  expect(legacy).toEqual(other);
  expect(legacy).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('count must be integer') as string }],
  });
  expect(reached).toEqual([]);
});

test('D-1: an empty handler result, an unknown tool and an unknown method are errors', async () => {
  const nothing = (() => {}) as unknown as ToolDefinition['run'];
  await expect(outcomes(nothing)).rejects.toThrow("-32603 'tool' returned neither a text nor");
  const lost = async () => ({ task: { id: 'nowhere' } });
  await expect(outcomes(lost)).rejects.toThrow(
    "createTaskServer was called without 'tasks'; pass the controller of the task",
  );

  const url = await serve({ tool: { run: () => 'done' } });
  const legacy = await LegacyWire.open(url);
  for (const request of [
    async (method: string, params: Json) => legacy.request(method, params),
    async (method: string, params: Json) => modern(url, method, params),
  ]) {
    await expect(request('tools/call', { name: 'other' })).rejects.toThrow('-32602 Tool other not found; known: tool');
    await expect(request('tools/call', { name: 'tool', arguments: [] })).rejects.toThrow('-32602');
    await expect(request('resources/list', {})).rejects.toThrow('-32601');
  }
});

test('D-1: a question to a client without the capability rejects, and the handler can continue', async () => {
  const errors: unknown[] = [];
  const url = await serve({
    strict: { run: async (_args, task) => (await task.elicit({ message: 'Which size?' })).action },
    lenient: {
      run: async (_args, task) => {
        const content = { type: 'text', text: 'Which size?' };
        const model = task.sample({ messages: [{ role: 'user', content }], maxTokens: 5 });
        await model.catch((error: unknown) => errors.push(error));
        return 'an M, then';
      },
    },
  });
  const legacy = await LegacyWire.open(url, {});
  for (const request of [
    async (name: string) => legacy.request('tools/call', { name }),
    async (name: string) => modern(url, 'tools/call', { name }, {}),
    // What it can be asked is another matter.
    async (name: string) => modern(url, 'tools/call', { name }, { elicitation: { url: {} } }),
  ]) {
    expect(await request('strict')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('the client did not declare elicitation') as string }],
    });
    expect(await request('lenient')).toMatchObject({ content: [{ text: 'an M, then' }] });
  }
  expect(errors).toEqual([expect.any(QuestionError), expect.any(QuestionError), expect.any(QuestionError)]);
});

test('D-1: other requests go to their handlers', async () => {
  const resource = { uri: 'shop://prices', name: 'prices' };
  const contents = [{ uri: resource.uri, text: 'a shirt: 10' }];
  const url = await serve(
    { tool: { run: () => 'done' } },
    {
      title: 'The shop',
      instructions: 'Order shirts.',
      requests: {
        'resources/list': () => ({ resources: [resource] }),
        'resources/read': async ({ uri }) => {
          if (uri === resource.uri) return { contents };
          throw Object.assign(new Error(`no ${String(uri)}`), { code: -32002 });
        },
      },
    },
  );
  const legacy = await LegacyWire.open(url);
  expect(await modern(url, 'server/discover', {})).toMatchObject({
    capabilities: { tools: {}, resources: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    instructions: 'Order shirts.',
  });
  expect(await legacy.request('resources/list', {})).toEqual({ resources: [resource] });
  expect(await modern(url, 'resources/read', { uri: resource.uri })).toMatchObject({ contents });
  await expect(legacy.request('resources/read', { uri: 'shop://none' })).rejects.toThrow('-32002 no shop://none');
});

test('D-1: closing stops open calls and the port, and can be repeated', async () => {
  const stopped: unknown[] = [];
  let at = '';
  const server = createTaskServer({
    name: 'app',
    version: '1.0.0',
    tools: {
      slow: {
        run: async (_args, { signal }) => {
          at = 'work';
          await delay(600_000, undefined, { signal }).catch((error: unknown) => stopped.push(error));
          return 'never';
        },
      },
    },
  });
  const url = await server.listen();
  const call = expect(modern(url, 'tools/call', { name: 'slow' }, {})).rejects.toThrow();
  await soon(() => at).toBe('work');
  await Promise.all([server.close(), server.close()]);
  await call;
  await soon(() => stopped.length).toBe(1);
  await expect(send(url)).rejects.toThrow('ECONNREFUSED');
  await expect(server.listen()).rejects.toThrow('the server is closed');
});

test('D-1: listening on all addresses requires tokens, and each token has its own tasks', async () => {
  const never = new Promise<string>(() => {});
  const settings = { direct: { taskAfterMs: 1 } };
  const server = owned(
    createTaskServer({ name: 'app', version: '1.0.0', settings, tools: { slow: { run: async () => never } } }),
  );
  await expect(server.listen({ host: '0.0.0.0' })).rejects.toThrow("set 'tokens'");
  await expect(server.listen({ tokens: { ada: 'short' } })).rejects.toThrow('a token has at least 16 characters');
  const tokens = { ada: 'ada-has-this-token', ben: 'ben-has-this-token' };
  const url = await server.listen({ tokens });
  expect((await send(url, { body: '{}' })).status).toBe(401);

  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const { taskId } = await modern(url, 'tools/call', { name: 'slow' }, undefined, as(tokens.ada));
  expect(await modern(url, 'tasks/get', { taskId }, undefined, as(tokens.ada))).toMatchObject({ status: 'working' });
  await expect(modern(url, 'tasks/get', { taskId }, undefined, as(tokens.ben))).rejects.toThrow(
    `-32602 task '${String(taskId)}' not found`,
  );
});

test('D-1: the server is at /mcp and at /mcp/<name>', async () => {
  const url = await serve({ tool: { run: () => 'done' } });
  const call = { name: 'tool' };
  expect(await modern(`${url}/app`, 'tools/call', call)).toMatchObject({ content: [{ text: 'done' }] });
  const nowhere = await send(url.replace('/mcp', '/else'), { body: '{}' });
  expect(nowhere.status).toBe(404);
  expect(nowhere.json).toMatchObject({ error: { message: "path '/else' not found; try /mcp" } });
});
