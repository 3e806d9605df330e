import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { isAlive } from '../../support/alive.ts';
import { httpGateway, temporaryFolder, type LogLine } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask, echo, statusOf, untilEvent } from './activity.ts';

const ATTEMPTS = 3;
const RECONNECT = { firstMs: 10, maxMs: 40, attempts: ATTEMPTS };
/** Nobody needs to use a command for it to be started. */
const EAGER = { commands: 'eager' };

async function startLog(): Promise<{ file: string; pids: () => Promise<number[]> }> {
  const file = join(await temporaryFolder(), 'starts');
  const pids = async (): Promise<number[]> => (await readFile(file, 'utf8')).trim().split('\n').map(Number);
  return { file, pids };
}

/** A gateway that has lost its server for good: every attempt to reconnect was refused. */
async function lostServer(reconnect: object): Promise<{ server: V1Http; hub: HubClient; logs: LogLine[] }> {
  const server = owned(await startV1Http());
  const { url, logs } = await httpGateway({ one: { url: server.url } }, { servers: { reconnect } });
  const hub = await hubOverHttp(url);
  await echo(hub, 'one');
  await server.close();
  await vi.waitFor(async () => expect(await statusOf(hub, 'one')).toMatchObject({ status: 'error' }), {
    timeout: 10_000,
  });
  return { server, hub, logs };
}

test('B-2: the delays between reconnect attempts grow to the maximum, and attempts are counted', async () => {
  const { server, hub, logs } = await lostServer({ firstMs: 20, factor: 3, maxMs: 100, attempts: 4 });
  const waits = logs
    .filter(({ event }) => event === 'server_reconnecting')
    .map(({ data }) => Number(data?.['delayMs']));
  expect(waits).toHaveLength(4);
  // With up to a quarter of jitter taken off.
  for (const [index, full] of [20, 60, 100, 100].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(full * 0.75);
    expect(waits[index]).toBeLessThanOrEqual(full);
  }

  const failed = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'hi' } });
  expect(failed).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
  expect(failed.text).toContain('ECONNREFUSED');
  owned(await startV1Http({ port: server.port }));
  expect(await echo(hub, 'one', 'on next use')).toBe('on next use');
});

test.each(['stable', 'unstable'] as const)(
  'B-2, O-1: after a %s connection the configured number of attempts is made and logged',
  async (kind) => {
    const { logs } = await lostServer({ ...RECONNECT, stableMs: kind === 'stable' ? 1 : 60_000 });
    const attempts = (event: string): unknown[] =>
      logs.filter((line) => line.event === event).map(({ data }) => data?.['attempt']);
    expect(attempts('server_reconnecting')).toEqual([1, 2, 3]);
    expect(attempts('server_reconnect_failed')).toEqual([1, 2, 3]);
  },
);

test('B-2: a command that never starts uses up its attempts, and only the next use tries again', async () => {
  const { file, pids } = await startLog();
  const server = v1Stdio({ TEST_EXIT_AT_START: '1', TEST_START_LOG: file });
  const { url } = await httpGateway({ one: server }, { servers: { connect: EAGER, reconnect: RECONNECT } });
  const hub = await hubOverHttp(url);
  const failed = { status: 'error', connected: false, lastError: expect.stringContaining('exited with code 1') };
  await vi.waitFor(async () => expect(await statusOf(hub, 'one')).toMatchObject(failed), { timeout: 10_000 });
  const starts = (await pids()).length;
  // The connection itself and its repetitions, and once more without the question which era it speaks.
  expect(starts).toBe(1 + ATTEMPTS + 1);
  await new Promise((resolve) => setTimeout(resolve, 3 * RECONNECT.maxMs));
  expect(await pids()).toHaveLength(starts);

  const reply = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'hi' } });
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
  expect(reply.text).toContain('exited with code 1');
  expect((await pids()).length).toBeGreaterThan(starts);
});

test('B-2: a command that exits soon after each start is not restarted endlessly', async () => {
  const { file, pids } = await startLog();
  const server = v1Stdio({ TEST_EXIT_AFTER_MS: '1000', TEST_START_LOG: file });
  const reconnect = { ...RECONNECT, attempts: 2 };
  const { url, logs } = await httpGateway({ one: server }, { servers: { connect: EAGER, reconnect } });
  const hub = await hubOverHttp(url);
  await vi.waitFor(async () => expect(await statusOf(hub, 'one')).toMatchObject({ status: 'error' }), {
    timeout: 15_000,
  });
  expect(logs.map(({ event }) => event)).toContain('server_connected');
  expect(await pids()).toHaveLength(3);
  expect(await echo(hub, 'one', 'still useful')).toBe('still useful');
});

test('B-2: a connection that was stable resets the count of attempts', async () => {
  const reconnect = { ...RECONNECT, attempts: 1, stableMs: 1 };
  const { url } = await httpGateway({ one: v1Stdio() }, { servers: { reconnect } });
  const hub = await hubOverHttp(url);
  for (let round = 0; round < 4; round += 1) {
    process.kill(Number(await ask(hub, 'one', 'pid')), 'SIGKILL');
    await untilEvent(hub, 'server_reconnected', 'one');
  }
  expect(await statusOf(hub, 'one')).toMatchObject({ status: 'connected' });
});

test('B-2: a session never has two processes of one server', async () => {
  const { file, pids } = await startLog();
  // The timer of the next attempt and the calls get in each other's way.
  const reconnect = { firstMs: 1, maxMs: 2, attempts: 1000 };
  const server = v1Stdio({ TEST_START_LOG: file });
  const { url, logs } = await httpGateway({ one: server }, { servers: { reconnect } });
  const hub = await hubOverHttp(url);
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    const pid = Number(await ask(hub, 'one', 'pid'));
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(
      () => expect(logs.filter(({ event }) => event === 'server_disconnected')).toHaveLength(round + 1),
      10_000,
    );
    const callers = Array.from({ length: 5 }, () => ask(hub, 'one', 'pid'));
    const answers = new Set(await Promise.all(callers));
    expect(answers.size).toBe(1);
    expect((await pids()).filter(isAlive)).toEqual([Number([...answers][0])]);
  }
  expect(await pids()).toHaveLength(rounds + 1);
});
