import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test, vi } from 'vitest';
import { startTasksV2Http, type TasksV2Http } from '../../servers/tasks-v2-http.ts';
import { isAlive } from '../../support/alive.ts';
import { temporaryFolder, type LogLine } from '../../support/gateway.ts';
import { takeApart, taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { runProgram } from '../../support/program.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';

interface Project {
  home: string;
  folder: string;
  config: string;
  server: TasksV2Http;
}

/** A folder with a config file, as clients start the program in. */
async function project(): Promise<Project> {
  const server = owned(await startTasksV2Http());
  const home = await temporaryFolder();
  const folder = join(home, 'project');
  await mkdir(folder);
  const config = join(folder, 'meanwhile.json');
  await writeFile(config, JSON.stringify({ mcpServers: { ext: { url: server.url } } }));
  return { home, folder, config, server };
}

interface StdioHub {
  call(tool: string, args?: Json): Promise<Reply>;
  pid: number;
  logs: LogLine[];
  close(): Promise<void>;
}

async function connect({ home, folder, config }: Project, ...more: string[]): Promise<StdioHub> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [QUICK_PROGRAM, 'stdio', '--config', config, ...more],
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stderr: 'pipe',
  });
  const logs: LogLine[] = [];
  let rest = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    logs.push(...lines.map((line) => JSON.parse(line) as LogLine));
  });
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  await client.connect(transport);
  return {
    call: async (name, args = {}) =>
      takeApart(await client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema)),
    pid: Number(transport.pid),
    logs,
    close: () => client.close(),
  };
}

async function gone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
}

describe('P-2: a stdio client whose gateway was killed', () => {
  test('P-2, B-3: finds its tasks, results, questions and events when it starts again in the same project', async () => {
    const here = await project();
    const first = await connect(here);
    const call = async (tool: string, args: Json): Promise<Reply> =>
      first.call('execute_tool', { server: 'ext', tool, args, timeout_ms: 300 });
    const held = taskIdOf(await call('hold', { text: 'went on' }));
    const asked = await call('ask', {});
    const done = taskIdOf(await call('slow', { ms: 1000, text: 'done before' }));
    expect((await first.call('get_task_result', { task_id: done })).text).toBe('done before');
    process.kill(first.pid, 'SIGKILL');
    await gone(first.pid);

    const second = await connect(here);
    const { body } = await second.call('list_tasks', { include_completed: true });
    const ids = (body['tasks'] as Json[]).map(({ task_id }) => String(task_id));
    expect(ids.toSorted()).toEqual([held, taskIdOf(asked), done].toSorted());
    expect((await second.call('get_task_result', { task_id: done })).text).toBe('done before');
    const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
    expect((await second.call('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
    expect((await second.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
    here.server.state.release();
    expect((await second.call('get_task_result', { task_id: held })).text).toBe('went on');
  });

  test('S-1, P-2: finds none of them in another project', async () => {
    const here = await project();
    const first = await connect(here);
    await first.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 100 });
    process.kill(first.pid, 'SIGKILL');
    await gone(first.pid);
    const elsewhere = join(here.home, 'elsewhere');
    await mkdir(elsewhere);
    const config = join(elsewhere, 'meanwhile.json');
    await writeFile(config, '{}');
    const other = await connect({ ...here, folder: elsewhere, config });
    const { body } = await other.call('list_tasks', { include_completed: true });
    expect(body['tasks']).toEqual([]);
  });

  test('S-4: finds no task after it closed its connection itself', async () => {
    const here = await project();
    const first = await connect(here);
    await first.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 100 });
    await first.close();
    await gone(first.pid);
    const second = await connect(here);
    const { body } = await second.call('list_tasks', { include_completed: true });
    expect(body['tasks']).toEqual([]);
  });
});

describe('P-1: a second gateway on the same store', () => {
  test('P-1: runs with a store in memory in the same project, and logs a warning', async () => {
    const here = await project();
    const first = await connect(here);
    const held = taskIdOf(await first.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 100 }));
    const second = await connect(here);
    await vi.waitFor(() => {
      const warning = second.logs.find(({ event }) => event === 'store_in_use');
      expect(warning).toMatchObject({ level: 'warn', data: { instead: ':memory:' } });
    }, 10_000);
    const { text } = await second.call('execute_tool', { server: 'ext', tool: 'echo', args: { text: 'two' } });
    expect(text).toBe('two');
    const { body } = await second.call('list_tasks', { include_completed: true });
    expect(body['tasks']).toEqual([]);
    here.server.state.release();
    expect((await first.call('get_task_result', { task_id: held })).isError).toBe(false);
  });

  test('P-1: exits for a store named by a flag, with the id of the process that uses it', async () => {
    const here = await project();
    const store = join(here.home, 'own.db');
    const first = await connect(here, '--store', store);
    const env = { HOME: here.home };
    const second = await runProgram(['stdio', '--config', here.config, '--store', store], { env });
    expect(second.code).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr).toContain(store);
    expect(second.stderr).toContain(`process ${first.pid}`);
    expect((await first.call('list_servers')).isError).toBe(false);
  });
});
