import { expect, test, vi } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { configFile } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { logged, serveProgram, startProgram, type Program } from '../../support/program.ts';
import { INITIALIZE, toolCall } from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';

const DEADLINE_MS = 5000;
const STUBBORN = { TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' };

const execute = (server: string, tool: string, args: Json): Json => ({ server, tool, args, timeout_ms: 0 });

/** A server that can be looked into, and one whose process does not want to go. */
async function configured(): Promise<{ server: V1Http; config: string }> {
  const server = owned(await startV1Http());
  return { server, config: await configFile({ seen: { url: server.url }, stubborn: v1Stdio(STUBBORN) }) };
}

/** What had to happen, once the program was told to stop. */
async function stopsInTime(program: Program, server: V1Http, stop: () => void): Promise<void> {
  await vi.waitFor(() => expect(server.state.calls.map(({ tool }) => tool).toSorted()).toEqual(['ask', 'slow']), {
    timeout: 10_000,
  });
  const started = Date.now();
  stop();
  expect(await program.exited).toBe(0);
  expect(Date.now() - started).toBeLessThan(DEADLINE_MS);
  // Its goodbye ended our sessions on the server, and with them the work.
  await vi.waitFor(() => expect(server.state.cancelled.toSorted()).toEqual(['ask', 'slow']), 10_000);
}

test.each(['SIGTERM', 'SIGINT'] as const)('S-4: serve exits on %s with open calls and questions', async (signal) => {
  const { server, config } = await configured();
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url);
  await hub.call('execute_tool', execute('stubborn', 'slow', { ms: 600_000 }));
  await hub.call('execute_tool', execute('seen', 'ask', {}));
  const task = taskIdOf(await hub.call('execute_tool', execute('seen', 'slow', { ms: 600_000 })));
  // Somebody waits; what becomes of the wait is another story.
  const waiting = hub.call('get_task_result', { task_id: task }).catch(() => undefined);
  defer(() => waiting);
  await stopsInTime(program, server, () => void program.child.kill(signal));
  await expect(fetch(program.url)).rejects.toThrow('fetch failed');
});

test('S-4: repeated signals do not interrupt the shutdown', async () => {
  const { config } = await configured();
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url);
  await hub.call('execute_tool', execute('stubborn', 'slow', { ms: 600_000 }));
  program.child.kill('SIGTERM');
  await logged(program, 'stopping');
  program.child.kill('SIGTERM');
  program.child.kill('SIGINT');
  expect(await program.exited).toBe(0);
  await logged(program, 'registry_shutdown_complete');
});

test.each(['SIGTERM', 'SIGINT', 'end of input'] as const)(
  'S-4: stdio exits on %s with open calls and questions',
  async (what) => {
    const { server, config } = await configured();
    const program = await startProgram(['stdio', '--config', config, '--log-level', 'info']);
    await logged(program, 'listening');
    const say = (message: Json): void => void program.child.stdin.write(`${JSON.stringify(message)}\n`);
    say(INITIALIZE);
    say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    say(toolCall('execute_tool', execute('stubborn', 'slow', { ms: 600_000 }), 1));
    say(toolCall('execute_tool', execute('seen', 'ask', {}), 2));
    say(toolCall('execute_tool', execute('seen', 'slow', { ms: 600_000 }), 3));
    say(toolCall('await_activity', { timeout_ms: 600_000 }, 4));
    await stopsInTime(program, server, () => {
      if (what === 'end of input') program.child.stdin.end();
      else program.child.kill(what);
    });
    expect(program.stdout.every((line) => 'jsonrpc' in (JSON.parse(line) as Json))).toBe(true);
  },
);

test('S-4: a program that stops does not wait for servers that are still connecting', async () => {
  // A command that says nothing at all: the attempt to connect would last half a minute.
  const mute = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
  const program = await serveProgram([
    '--config',
    await configFile({ mute }, { servers: { connect: { commands: 'eager' } } }),
  ]);
  const hub = await hubOverHttp(program.url);
  expect((await hub.call('get_server_status', { server: 'mute' })).body).toMatchObject({ status: 'connecting' });
  const started = Date.now();
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  expect(Date.now() - started).toBeLessThan(DEADLINE_MS);
  const late = program.stderr.filter((line) => line.includes('shutdown_incomplete'));
  expect(late).toEqual([]);
});
