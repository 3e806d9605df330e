import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { defer } from '../../support/owned.ts';
import type { Json } from '../../support/hub.ts';
import {
  modernCall,
  modernHeaders,
  post,
  postAndLeave,
  rawSession,
  toolCall,
  type RawSession,
} from '../../support/raw-http.ts';
import { QUICK_PROGRAM, SMALL_HEAP } from '../../support/servers.ts';
import { ADA, BEN, TOKENS } from '../principals/two-hubs.ts';
import { oddServer } from '../robust/odd-server.ts';
import { ATTACK_MS, attacked, hostileChild, MEGABYTE } from './attack.ts';

const LONG = { timeout: ATTACK_MS };

/** A notification as large as a request may be. */
const LARGE = {
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 'any', progress: 1, message: 'x'.repeat(3 * MEGABYTE) },
};

test('X-3: a command server that does not read is ended', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild(), { servers: { reconnect: { attempts: 0 } } });
  const direct = `${attack.url}/bad`;
  const client = await rawSession(direct);
  await post(direct, toolCall('deaf', {}, 'deaf'), client.headers);
  for (let sent = 0; sent < 15; sent += 1) await post(direct, LARGE, client.headers);
  await expect.poll(() => attack.program.stderr.join('\n'), LONG).toContain('does not read its standard input');
  await attack.expectUnharmed();
});

test('X-3: an HTTP server that does not answer notifications is disconnected', { timeout: ATTACK_MS }, async () => {
  const bad = await oddServer({
    'notifications/progress': () => {
      // Never answered.
    },
  });
  const attack = await attacked({ url: bad.url }, { servers: { reconnect: { attempts: 0 } } });
  const direct = `${attack.url}/bad`;
  const client = await rawSession(direct);
  await post(direct, toolCall('any', {}, 'first'), client.headers);
  for (let sent = 0; sent < 15; sent += 1) await post(direct, LARGE, client.headers);
  await expect.poll(() => attack.program.stderr.join('\n'), LONG).toContain('does not read its input');
  await attack.expectUnharmed();
});

type Request = [message: Json, headers: Record<string, string>];

/** Calls that are answered with much, for clients of each kind. */
const CALLS: Record<string, (client: RawSession, args: Json, id: string) => Request> = {
  'with a session': ({ headers }, args, id) => [toolCall('execute_tool', args, id), headers],
  'without a session': (_client, args, id) => [modernCall('execute_tool', args, id), modernHeaders('execute_tool')],
  'without a session, on a stream': (_client, { args, ...more }, id) => {
    const call = modernCall('execute_tool', { ...more, args: { ...(args as Json), announced: true } }, id);
    const params = call['params'] as { _meta: Json };
    const _meta = { ...params._meta, progressToken: id };
    return [{ ...call, params: { ...params, _meta } }, modernHeaders('execute_tool')];
  },
};

interface LargeReplies {
  url: string;
  client: RawSession;
  count: number;
  call?: (typeof CALLS)[string] | undefined;
}

/** So many of the large replies are more than the gateway keeps unread. */
const TOO_MANY = 9;

/** The replies to calls for large results, none of them read yet unless the test reads those in `replies`. */
async function largeReplies(
  { url, client, count, call = CALLS['with a session'] }: LargeReplies,
  replies: IncomingMessage[] = [],
): Promise<IncomingMessage[]> {
  if (call === undefined) throw new Error('no such kind of client');
  const args = { server: 'bad', tool: 'result', args: { bytes: 15_500_000 } };
  for (let sent = 0; sent < count; sent += 1) {
    const unread = postAndLeave(url, ...call(client, args, `unread ${sent}`));
    unread.on('response', (reply) => void replies.push(reply.on('error', () => {})));
  }
  await expect.poll(() => replies.length, LONG).toBe(count);
  // The server answers one after the other.
  await post(url, ...call(client, { server: 'bad', tool: 'echo', args: { text: 'after them' } }, 'last'));
  return replies;
}

/** Reads them to their ends; tells how many arrive in full. */
async function complete(replies: IncomingMessage[]): Promise<number> {
  const open = replies.filter(({ closed }) => !closed);
  await Promise.all(open.map((reply) => new Promise((resolve) => reply.resume().once('close', resolve))));
  return replies.filter((reply) => reply.complete).length;
}

test.each(Object.entries(CALLS))(
  'X-3: clients that do not read their replies are disconnected (%s)',
  { timeout: ATTACK_MS },
  async (_name, call) => {
    const attack = await attacked(hostileChild());
    const { url } = attack;
    const replies = await largeReplies({ url, client: await rawSession(url), count: TOO_MANY, call });
    // Large replies are written piece by piece: before the last pieces, the gateway does not know that nobody reads.
    const isCutOff = (): boolean => attack.program.stderr.some((line) => line.includes('slow_client_disconnected'));
    await expect.poll(isCutOff, LONG).toBe(true);
    expect(await complete(replies)).toBeLessThan(TOO_MANY);
    await attack.expectUnharmed();
  },
);

test('X-3: a client that reads many large replies at once gets all of them', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const replies: IncomingMessage[] = [];
  // Slowly at first: the gateway sends faster than this.
  const reading = setInterval(() => {
    for (const reply of replies) reply.read();
  }, 20);
  defer(async () => clearInterval(reading));
  await largeReplies({ url: attack.url, client: await rawSession(attack.url), count: 7 }, replies);
  expect(await complete(replies)).toBe(7);
  await attack.expectUnharmed();
});

test(
  'X-3, X-2: of clients that do not read, those of the principal with the most unread data are disconnected',
  LONG,
  async () => {
    const { url, logs } = await httpGateway({ bad: hostileChild() }, { auth: { tokens: TOKENS } });
    const his = await largeReplies({ url, client: await rawSession(url, BEN), count: 1 });
    const hers = await largeReplies({ url, client: await rawSession(url, ADA), count: 6 });
    const disconnected = (): unknown[] =>
      logs.filter(({ event }) => event === 'slow_client_disconnected').map(({ data }) => data?.['principal']);
    await expect.poll(disconnected, LONG).toContain('ada');
    expect(disconnected()).not.toContain('ben');
    expect(await complete(his)).toBe(1);
    expect(await complete(hers)).toBeLessThan(6);
  },
);

test('X-3: a client on stdio that does not read is disconnected', { timeout: ATTACK_MS }, async () => {
  const config = await configFile({ bad: hostileChild() }, { logLevel: 'silent' });
  const home = await temporaryFolder();
  const child = spawn(process.execPath, [QUICK_PROGRAM, 'stdio', '--config', config], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...SMALL_HEAP },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'deaf', version: '1.0.0' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  send({ method: 'notifications/initialized' });
  const args = { server: 'bad', tool: 'progress', args: { bytes: 1_000_000, count: 2000 } };
  const _meta = { progressToken: 'p' };
  send({ id: 2, method: 'tools/call', params: { name: 'execute_tool', arguments: args, _meta } });
  // Nothing is read from its standard output. It ends by itself, and not because it ran out of memory.
  const [code, signal] = (await exited) as [number | null, string | null];
  expect({ code, signal }).toEqual({ code: 0, signal: null });
});

test('X-3: the bodies of open requests are limited in total', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const { headers } = await rawSession(attack.url);
  const padding = 'x'.repeat(3 * MEGABYTE);
  const refusals: number[] = [];
  const wait = (id: number): void => {
    const params = { name: 'await_activity', arguments: { timeout_ms: ATTACK_MS }, _meta: { padding } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
    const sent = request(attack.url, { method: 'POST', headers, agent: false });
    sent.on('error', () => {});
    sent.on('response', ({ statusCode = 0 }) => void refusals.push(statusCode));
    sent.end(body);
    defer(async () => void sent.destroy());
  };
  for (let id = 0; id < 50; id += 1) wait(id);
  await expect.poll(() => refusals.includes(429), LONG).toBe(true);
  await attack.expectUnharmed();
});
