import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { TaskClient } from '../../../src/client/index.ts';
import { startLiarHttp } from '../../servers/liar-http.ts';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { defer, owned } from '../../support/owned.ts';
import { tasksV1Stdio, v1Stdio } from '../../support/servers.ts';
import { clientOf, errorOf, next, soon } from './clients.ts';
import { ALL } from './servers.ts';

/** An address at which nobody listens. */
async function deserted(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/mcp`;
}

/** An address at which somebody listens who never says anything. */
async function silent(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  defer(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
}

/** Everything that speaks with the server. */
const WAYS: Record<string, (client: TaskClient) => Promise<unknown>> = {
  connect: (client) => client.connect(),
  ping: (client) => client.ping(),
  request: (client) => client.request('tools/list'),
  listTools: (client) => client.listTools(),
  callTool: (client) => client.callTool('echo', { text: 'hi' }),
  callToolStream: (client) => client.callToolStream('echo', { text: 'hi' }),
  watchTask: (client) => client.watchTask('some'),
  getTask: (client) => client.getTask('some'),
  getTaskResult: (client) => client.getTaskResult('some'),
  cancelTask: (client) => client.cancelTask('some'),
  listTasks: (client) => client.listTasks(),
};

test.each(Object.entries(WAYS))('C-1: %s reports an unreachable server', async (_name, use) => {
  const { client } = clientOf({ url: await deserted() });
  const error = await errorOf(use(client));
  expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('ECONNREFUSED') as unknown });
  expect(error.name).toBe('TaskClientError');
});

test('C-1: a program that does not exist or exits at once is unreachable', async () => {
  const missing = clientOf({ command: 'no-such-program-anywhere' });
  expect(await errorOf(missing.client.connect())).toMatchObject({
    kind: 'unreachable',
    message: expect.stringContaining('no-such-program-anywhere') as unknown,
  });
  const dying = clientOf(v1Stdio({ TEST_EXIT_AT_START: '1' }));
  expect(await errorOf(dying.client.connect())).toMatchObject({ kind: 'unreachable' });
});

test.each(['callTool', 'callToolStream'] as const)(
  'C-1: %s emits an event for a call that could not be sent',
  async (name) => {
    const { client, of } = clientOf({ url: await deserted() });
    const error = await errorOf(client[name]('echo', { text: 'hi' }));
    expect(of('toolCallResultChange')).toEqual([
      {
        toolName: 'echo',
        params: { text: 'hi' },
        result: null,
        success: false,
        error: error.message,
        timestamp: expect.any(Date) as unknown,
      },
    ]);
  },
);

test('C-1: connecting to a server that never answers times out', async () => {
  const { client } = clientOf({ url: await silent() }, { connectTimeoutMs: 200 });
  expect(await errorOf(client.connect())).toMatchObject({ kind: 'unreachable' });
});

test.each(Object.entries(WAYS))('C-1: %s is refused after disconnect', async (_name, use) => {
  const { url } = owned(await startV1Http());
  const { client } = clientOf({ url });
  await client.connect();
  await client.disconnect();
  const error = await errorOf(use(client));
  expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('closed') as unknown });
  expect(error.message).not.toContain('meanwhile-client');
});

test.each(ALL)('C-1: a server error keeps its code and data ($tasks, $era, $door)', async ({ start, tasks }) => {
  const { client } = clientOf((await start()).config);
  const expected = { kind: 'error', code: -32_011, data: { retryAfter: 7 } };
  expect(await errorOf(client.callToolStream('rpc_error'))).toMatchObject(expected);
  expect(await errorOf(client.request('no/such/method'))).toMatchObject({ kind: 'error', code: -32_601 });
  // The SDK of that server makes a result of what goes wrong in a call without a task.
  if (tasks === '2025-11-25') return;
  expect(await errorOf(client.callTool('rpc_error'))).toMatchObject(tasks === 'none' ? expected : { kind: 'error' });
  expect(await errorOf(client.callTool('no such tool'))).toMatchObject({ kind: 'error', code: -32_602 });
});

const CRASHING = [
  { door: 'HTTP', config: async () => ({ url: owned(await startV1Http()).url }) },
  { door: 'stdio', config: async () => v1Stdio() },
  { door: 'HTTP with tasks', config: async () => ({ url: owned(await startTasksV1Http()).url }) },
  { door: 'stdio with tasks', config: async () => tasksV1Stdio() },
];

test.each(CRASHING)('C-1: a server that crashes during a call is reported as lost ($door)', async ({ config }) => {
  const { client, of } = clientOf(await config());
  const error = await errorOf(client.callToolStream('crash'));
  expect(error).toMatchObject({ kind: 'lost' });
  expect(error).not.toHaveProperty('code');
  expect(of('toolCallResultChange')).toMatchObject([{ toolName: 'crash', success: false, error: error.message }]);
  // It is there again for whoever comes next.
  await soon(() => client.callTool('echo', { text: 'again' }).then(({ success }) => success)).toBe(true);
});

test('C-1: a request outside a call can be aborted', async () => {
  const { url } = owned(await startV1Http());
  const { client } = clientOf({ url });
  const cancel = new AbortController();
  const params = { name: 'slow', arguments: { ms: 600_000 } };
  const asked = errorOf(client.request('tools/call', params, cancel.signal));
  await client.ping();
  cancel.abort();
  expect(await asked).toMatchObject({ kind: 'cancelled' });
});

test('C-1: a call can be cancelled while the client connects', async () => {
  const { client } = clientOf({ url: await silent() });
  const cancel = new AbortController();
  const ended = errorOf(client.callToolStream('echo', {}, {}, {}, { signal: cancel.signal }));
  cancel.abort();
  expect(await ended).toMatchObject({ kind: 'cancelled' });
});

test('C-1: a server that does not speak MCP gets an error that says so', async () => {
  const { url } = owned(await startLiarHttp('stranger'));
  const { client } = clientOf({ url });
  expect(await errorOf(client.connect())).toMatchObject({
    kind: 'unreachable',
    message: expect.stringContaining('check that this is the URL of an MCP server') as unknown,
  });
});

test('C-1: an error without a handler does no harm and is emitted as an event', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    const { url } = owned(await startV2Http({ era: 'modern' }));
    const { client, of } = clientOf({ url });
    void client.callToolStream('rpc_error');
    await next(() => of('toolCallResultChange'));
    await client.ping();
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});
