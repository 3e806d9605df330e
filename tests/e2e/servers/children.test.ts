import { expect, test, vi } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { serveProgram } from '../../support/program.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask } from './activity.ts';

const STUBBORN = { TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' };

const gone = (pid: number): Promise<void> =>
  vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000, interval: 50 });

test('B-4, E-3: a command server that writes much to stderr keeps running, and its output is in the logs', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  expect(await ask(hub, 'one', 'stderr', { bytes: 200_000 })).toBe('wrote 200000');
  // The answer and what was written before it come through different pipes.
  await vi.waitFor(async () => {
    const { body } = await hub.call('get_logs', { server: 'one', source: 'stderr', limit: 500 });
    const logs = body['logs'] as { server: string; source: string; data: string }[];
    expect(logs[0]).toMatchObject({ server: 'one', source: 'stderr' });
    const text = logs.map(({ data }) => data).join('');
    expect(text).toMatch(/^e+$/);
    // The last piece is not full, and so may not be complete.
    expect(text.length).toBeGreaterThan(190_000);
  }, 10_000);
  expect((await hub.call('get_logs', { server: 'one', source: 'protocol' })).body).toEqual({ logs: [] });
});

test('B-4, S-3: removing a server ends the child processes of its command', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  const grandchild = Number(await ask(hub, 'one', 'grandchild'));
  expect([pid, grandchild].filter(isAlive)).toEqual([pid, grandchild]);
  await hub.call('remove_server', { name: 'one' });
  expect(isAlive(pid)).toBe(false);
  await gone(grandchild);
});

test('B-4: when a command server is killed, its child processes end', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  const grandchild = Number(await ask(hub, 'one', 'grandchild'));
  process.kill(pid, 'SIGKILL');
  await gone(grandchild);
});

test('B-4: a command server that ignores the end of stdin and SIGTERM is killed', async () => {
  const { url } = await httpGateway({ one: v1Stdio(STUBBORN) });
  const hub = await hubOverHttp(url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  await hub.call('remove_server', { name: 'one' });
  expect(isAlive(pid)).toBe(false);
});

test.each([
  { how: 'SIGTERM', signal: 'SIGTERM', env: {} },
  { how: 'SIGTERM and has stubborn children', signal: 'SIGTERM', env: STUBBORN },
  { how: 'kill -9', signal: 'SIGKILL', env: {} },
  { how: 'kill -9 and has stubborn children', signal: 'SIGKILL', env: STUBBORN },
] as const)('B-4: no process of a command server outlives a gateway that gets $how', async ({ signal, env }) => {
  const config = await configFile({ one: v1Stdio(env), two: v1Stdio(env) });
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url);
  const names = ['one', 'two'];
  const children = await Promise.all(names.map(async (name) => Number(await ask(hub, name, 'pid'))));
  const grandchildren = await Promise.all(names.map(async (name) => Number(await ask(hub, name, 'grandchild'))));
  // Some work is going on when it happens.
  taskIdOf(await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 }));
  program.child.kill(signal);
  expect(await program.exited).toBe(signal === 'SIGKILL' ? null : 0);
  for (const pid of [...children, ...grandchildren]) await gone(pid);
});
