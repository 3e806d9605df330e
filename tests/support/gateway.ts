/** Gateways for end-to-end tests, in this process: over HTTP, or over stdio. The test owns them. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { startHttp, startStdio, type HttpGateway } from '../../src/main.ts';
import { defer, owned } from './owned.ts';

// What a gateway loads with its first client is compiled before the tests begin, and not in the time of the first one.
await Promise.all([
  import('../../src/core/session/session.ts'),
  import('../../src/core/session/shared-connections.ts'),
  import('../../src/north/http/eras.ts'),
  import('../../src/north/stdio/listener.ts'),
  import('../../src/south/backends.ts'),
]);

/** The built program. */
export const PROGRAM = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export type Servers = Record<string, ServerConfig>;

/** The `meanwhile` section of a config file, as deep as the test needs it. */
export type SettingsInput = Record<string, unknown>;

export interface LogLine {
  level: string;
  event: string;
  timestamp: string;
  data?: Record<string, unknown>;
}

export interface TestGateway extends HttpGateway {
  logs: LogLine[];
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-test-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A config file on disk; nothing of the machine's own configuration gets in. */
export async function configFile(servers: Servers, settings: SettingsInput = {}): Promise<string> {
  const file = join(await temporaryFolder(), 'meanwhile.json');
  const meanwhile = { port: 0, store: ':memory:', ...settings };
  await writeFile(file, JSON.stringify({ mcpServers: servers, meanwhile }));
  return file;
}

export async function testConfig(
  servers: Servers,
  settings: SettingsInput = {},
  env: Record<string, string> = {},
): Promise<Config> {
  return loadConfig({ flags: { config: await configFile(servers, settings) }, env, cwd: '/' });
}

/** Longer than any test moves the time: a ping would be late whenever that happens before its answer has come. */
const NEVER_MS = 1_000_000_000;

function withoutPings(settings: SettingsInput): SettingsInput {
  return { ...settings, servers: { pingMs: NEVER_MS, ...(settings['servers'] as SettingsInput | undefined) } };
}

/** With a clock, the test can move the time of the gateway. */
export async function httpGateway(
  servers: Servers,
  settings: SettingsInput = {},
  clock?: Clock,
  env?: Record<string, string>,
): Promise<TestGateway> {
  const logs: LogLine[] = [];
  const log = createLog('debug', (line) => logs.push(JSON.parse(line) as LogLine));
  const config = await testConfig(servers, clock === undefined ? settings : withoutPings(settings), env);
  const running = await startHttp(config, log, clock);
  return owned({ ...running, logs });
}

/** A gateway that serves its hub, one server or a group of them, as `meanwhile stdio` does; returns the client's end of its streams. */
export async function stdioGateway(
  servers: Servers,
  settings: SettingsInput = {},
  shown?: string,
  clock?: Clock,
): Promise<Socket> {
  const flags = { config: await configFile(servers, clock === undefined ? settings : withoutPings(settings)) };
  const config = await loadConfig({ flags, env: {}, cwd: '/', transport: 'stdio', server: shown });
  const group = shown === undefined ? undefined : { group: shown };
  const native = shown !== undefined && Object.hasOwn(servers, shown) ? { server: shown } : group;
  const [own, clients] = await socketPair();
  const log = createLog('silent');
  const running = owned(await startStdio(config, native, log, { input: own, output: own }, clock));
  void running.closed.then(async () => running.close()).then(() => own.end());
  return clients;
}

/** Like a pair of pipes: what is written to one end is read at the other, and not before the write has ended. */
async function socketPair(): Promise<[Socket, Socket]> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const near = connect({ port: (listener.address() as AddressInfo).port, allowHalfOpen: true });
  const [far] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  defer(async () => {
    near.destroy();
    far.destroy();
  });
  return [near, far];
}
