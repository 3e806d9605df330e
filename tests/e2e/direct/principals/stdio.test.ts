import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test, vi } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { isAlive } from '../../../support/alive.ts';
import { configFile, temporaryFolder } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { runProgram } from '../../../support/program.ts';
import { QUICK_PROGRAM } from '../../../support/servers.ts';
import { textOf } from '../answered.ts';

interface Project {
  home: string;
  config: string;
}

interface Direct {
  request: (method: string, params?: Json) => Promise<Json>;
  pid: number;
  /** What it has written to its log. */
  log: () => string;
  close: () => Promise<void>;
}

async function direct({ home, config }: Project, server: string): Promise<Direct> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [QUICK_PROGRAM, 'stdio', '--server', server, '--config', config],
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    log += String(chunk);
  });
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  await client.connect(transport);
  return {
    request: (method, params = {}) => client.request({ method, params }, ResultSchema),
    pid: Number(transport.pid),
    log: () => log,
    close: () => client.close(),
  };
}

const begun = async ({ request }: Direct, args: Json): Promise<string> => {
  const { task } = await request('tools/call', { name: 'hold', arguments: args, task: {} });
  return (task as { taskId: string }).taskId;
};

async function project() {
  const [one, two] = [owned(await startTasksV2Http()), owned(await startTasksV2Http())];
  const home = await temporaryFolder();
  const config = join(home, 'meanwhile.json');
  await writeFile(config, JSON.stringify({ mcpServers: { one: { url: one.url }, two: { url: two.url } } }));
  return { here: { home, config }, one, two };
}

test('D-2, H-12: `stdio --server` with an unknown server exits with an error that names the known ones', async () => {
  const config = await configFile({ one: { url: 'http://127.0.0.1:9/mcp' }, two: { url: 'http://127.0.0.1:9/mcp' } });
  const { code, stdout, stderr } = await runProgram(['stdio', '--server', 'three', '--config', config]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain("no server 'three'; known: one, two");
});

test('S-1, P-1: programs for two servers of one config run side by side, each with its own store', async () => {
  const { here, one, two } = await project();
  const first = await direct(here, 'one');
  const second = await direct(here, 'two');
  const [ofOne, ofTwo] = [await begun(first, { text: 'of one' }), await begun(second, { text: 'of two' })];
  expect((await first.request('tasks/list'))['tasks']).toMatchObject([{ taskId: ofOne }]);
  expect((await second.request('tasks/list'))['tasks']).toMatchObject([{ taskId: ofTwo }]);
  await expect(first.request('tasks/get', { taskId: ofTwo })).rejects.toMatchObject({ code: -32602 });
  expect(first.log() + second.log()).not.toContain('store_in_use');
  const stores = await readdir(join(here.home, '.local', 'share', 'meanwhile'));
  expect(stores.filter((name) => name.endsWith('.db'))).toHaveLength(2);
  one.state.release();
  two.state.release();
  expect(textOf(await first.request('tasks/result', { taskId: ofOne }))).toBe('of one');
  expect(textOf(await second.request('tasks/result', { taskId: ofTwo }))).toBe('of two');
});

test('P-2, S-5: a program that was killed and started again continues its tasks', async () => {
  const { here, one, two } = await project();
  const [first, other] = [await direct(here, 'one'), await direct(here, 'two')];
  const taskId = await begun(first, { text: 'went on' });
  await begun(other, {});
  // The server names its task in its answer; only then can it be followed.
  await vi.waitFor(() => expect(requestsOf(one.state, 'tasks/get').length).toBeGreaterThan(0), 10_000);
  process.kill(first.pid, 'SIGKILL');
  await vi.waitFor(() => expect(isAlive(first.pid)).toBe(false), 10_000);
  const again = await direct(here, 'one');
  expect((await again.request('tasks/list'))['tasks']).toMatchObject([{ taskId, status: 'working' }]);
  one.state.release();
  expect(textOf(await again.request('tasks/result', { taskId }))).toBe('went on');
  expect(requestsOf(one.state, 'tools/call')).toHaveLength(1);
  expect((await other.request('tasks/list'))['tasks']).toMatchObject([{ status: 'working' }]);
  two.state.release();
});

test('S-4: a program whose client closes the connection cancels its tasks and keeps none', async () => {
  const { here, one } = await project();
  const first = await direct(here, 'one');
  await begun(first, { text: 'unwanted' });
  // What has not arrived need not be cancelled.
  await vi.waitFor(() => expect(requestsOf(one.state, 'tools/call')).toHaveLength(1), 10_000);
  await first.close();
  await vi.waitFor(() => expect(one.state.cancelled).toEqual(['hold:unwanted']), 10_000);
  const again = await direct(here, 'one');
  expect((await again.request('tasks/list'))['tasks']).toEqual([]);
});
