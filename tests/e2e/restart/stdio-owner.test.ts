import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test, vi } from 'vitest';
import { KillableGateway } from '../../crash/gateway.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { isAlive } from '../../support/alive.ts';
import { clockAhead } from '../../support/clock-ahead.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { takeApart, taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { modernCall, modernHeaders, post, toolCall } from '../../support/raw-http.ts';
import { runProgram } from '../../support/program.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { rows } from './killable.ts';

interface StdioHub {
  call(tool: string, args?: Json): Promise<Reply>;
  kill(): Promise<void>;
}

async function connect(config: string, laterMs = 0): Promise<StdioHub> {
  const home = dirname(config);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [QUICK_PROGRAM, 'stdio', '--config', config],
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...clockAhead(laterMs) },
    stderr: 'ignore',
  });
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  await client.connect(transport);
  const pid = Number(transport.pid);
  return {
    call: async (name, args = {}) =>
      takeApart(await client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema)),
    kill: async () => {
      process.kill(pid, 'SIGKILL');
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
    },
  };
}

/** A client on stdio whose gateway is killed while it has a task at work. */
async function cutOff(config: string): Promise<string> {
  const hub = await connect(config);
  const id = taskIdOf(await hub.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 100 }));
  await hub.kill();
  return id;
}

test('S-1, X-2, P-2: the session of a stdio client cannot be used over HTTP', async () => {
  const server = owned(await startTasksV2Http());
  const folder = await temporaryFolder();
  const servers = { ext: { url: server.url } };
  const store = join(folder, 'store.db');
  const id = await cutOff(await configFile(servers, { store }));
  const names = rows(store, 'sessions').map((row) => String(row['id']));
  expect(names).toHaveLength(1);

  const gateway = await KillableGateway.prepare({ folder, servers, settings: {} });
  defer(() => gateway.stop());
  await gateway.start();
  // Another that has no name of its own.
  expect((await post(gateway.url, modernCall('list_servers'), modernHeaders('list_servers'))).status).toBe(200);
  for (const name of [...names, 'stdio', 'connection:stdio', 'principal:local']) {
    const headers = { 'mcp-session-id': name, 'mcp-protocol-version': '2025-11-25' };
    const { status, text } = await post(gateway.url, toolCall('list_tasks', { include_completed: true }), headers);
    expect(status, name).toBe(404);
    expect(text, name).not.toContain(id);
  }
});

test('S-1, S-4: a stdio client that connects after the idle time gets no tasks of a killed gateway', async () => {
  const server = owned(await startTasksV2Http());
  const store = join(await temporaryFolder(), 'store.db');
  const idleMs = 60_000;
  const config = await configFile({ ext: { url: server.url } }, { store, sessions: { idleMs } });
  await cutOff(config);
  const later = await connect(config, idleMs);
  const { body, events } = await later.call('list_tasks', { include_completed: true });
  expect(body['tasks']).toEqual([]);
  expect(events).toEqual([]);
});

test('P-2, S-5: a start that only probes the program keeps the stored session', async () => {
  const server = owned(await startTasksV2Http());
  const store = join(await temporaryFolder(), 'store.db');
  const config = await configFile({ ext: { url: server.url } }, { store });
  const id = await cutOff(config);
  for (const method of ['server/discover', 'ping']) {
    const probe = await runProgram(['stdio', '--config', config], {
      input: `${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })}\n`,
    });
    expect(probe.code).toBe(0);
  }
  const again = await connect(config);
  // If the kill came before the server had named its task, the task has failed, and is there all the same.
  const { body } = await again.call('list_tasks', { include_completed: true });
  expect(body['tasks']).toMatchObject([{ task_id: id }]);
});
