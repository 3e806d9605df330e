import { expect, test } from 'vitest';
import { startSse2024 } from '../../servers/sse2024.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { echo } from '../servers/activity.ts';
import { textResult } from './odd-server.ts';
import { oddSseServer, sendMessage } from './odd-sse-server.ts';

const LIMITS = { messageBytes: 1_000_000 };
const RECONNECT = { firstMs: 20, maxMs: 50, attempts: 1000 };

test('X-3, B-1: a response of a 2024 server that is too large fails only its own call', async () => {
  const server = owned(await startSse2024());
  const { url, logs } = await httpGateway({ one: { url: server.url } }, { limits: LIMITS });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', {
    server: 'one',
    tool: 'echo',
    args: { text: 'x'.repeat(1_500_000) },
    timeout_ms: 8000,
  });
  expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(reply.text).toContain('limits.messageBytes = 1000000');
  expect(await echo(hub, 'one', 'still here')).toBe('still here');
  expect(logs.map(({ event }) => event)).not.toContain('server_disconnected');
});

test('X-3: an endless event of a 2024 server closes the connection', { timeout: 30_000 }, async () => {
  const server = await oddSseServer((stream, { id, name }) => {
    if (name === 'echo') {
      sendMessage(stream, { id, result: textResult('still here') });
      return;
    }
    stream.write('data: "');
    const pour = (): void => {
      while (!stream.destroyed) if (!stream.write(Buffer.alloc(100_000, 'x'))) return void stream.once('drain', pour);
    };
    pour();
  });
  const settings = { limits: LIMITS, servers: { reconnect: RECONNECT } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'one', tool: 'any', timeout_ms: 10_000 });
  expect(reply.code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  expect(reply.text).toContain('limits.messageBytes');
  expect(await echo(hub, 'one')).toBe('still here');
});

test('B-2, B-3: a broken stream of a 2024 server fails its calls, and the gateway reconnects', async () => {
  const server = await oddSseServer((stream, { id, name }) => {
    if (name === 'echo') sendMessage(stream, { id, result: textResult('again') });
    else stream.destroy();
  });
  const { url } = await httpGateway({ one: { url: server.url } }, { servers: { reconnect: RECONNECT } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'one', tool: 'any', timeout_ms: 8000 });
  expect(reply.code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  expect(await echo(hub, 'one')).toBe('again');
  expect(server.received.filter((method) => method === 'initialize')).toHaveLength(2);
});

test('X-3: streams that break in the middle of a large event release their memory', { timeout: 30_000 }, async () => {
  let broken = 0;
  const server = await oddSseServer((stream) => {
    broken += 1;
    // The gateway reads all of it, and then the connection ends in the middle of the response.
    stream.write(`data: "${'x'.repeat(900_000)}`, () => stream.socket?.end());
  });
  const fine = owned(await startV1Http());
  const settings = { limits: LIMITS, servers: { reconnect: RECONNECT } };
  const { url } = await httpGateway({ bad: { url: server.url }, fine: { url: fine.url } }, settings);
  const hub = await hubOverHttp(url);
  for (let n = 0; n < 9; n += 1) {
    const reply = await hub.call('execute_tool', { server: 'bad', tool: 'any', timeout_ms: 8000 });
    expect(reply.code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  }
  expect(broken).toBe(9);
  const large = 'y'.repeat(900_000);
  expect((await echo(hub, 'fine', large)).length).toBe(large.length);
});
