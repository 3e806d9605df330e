import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { INITIALIZE, post } from '../../../support/raw-http.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const FAST = { servers: { reconnect: { firstMs: 20, maxMs: 100 } } };

test('B-2, D-2: a client of an unreachable server gets an error, and can connect when the server is back', async () => {
  const first = owned(await startV1Http());
  await first.close();
  const { url, gateway } = await httpGateway({ one: { url: first.url } }, FAST);
  const { status, json } = await post(`${url}/one`, INITIALIZE);
  expect(status).toBe(502);
  expect(json['error']).toMatchObject({ message: expect.stringContaining("server 'one' cannot be reached") });
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  const connecting = client.connect(new StreamableHTTPClientTransport(new URL(`${url}/one`)));
  await expect(connecting).rejects.toThrow(/cannot be reached/);
  const modern = new ModernWire(`${url}/one`);
  for (const method of ['server/discover', 'tools/list', 'subscriptions/listen']) {
    const answered = await modern.send(method);
    expect(answered, method).toMatchObject({
      status: 502,
      error: { message: expect.stringContaining("server 'one' cannot be reached") },
    });
  }
  // A session that could not begin has left nothing behind.
  expect(gateway.sessions.filter(({ id }) => !id.includes(':'))).toEqual([]);

  owned(await startV1Http({ port: first.port }));
  const wire = await LegacyWire.open(`${url}/one`);
  expect(textOf(await wire.call('echo', { text: 'back' }))).toBe('back');
  expect(textOf(await modern.call('echo', { text: 'back' }))).toBe('back');
});

test('B-2, B-3, D-2: calls fail with the reason when their server goes down, and the session continues when it is back', async () => {
  const first = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: first.url } }, FAST);
  const wire = await LegacyWire.open(`${url}/one`);
  const modern = new ModernWire(`${url}/one`, { capabilities: {} });
  const calls = [
    wire.send('tools/call', { name: 'slow', arguments: { ms: 600_000 } }),
    modern.send('tools/call', { name: 'slow', arguments: { ms: 600_000 } }),
  ];
  await soon(() => first.state.calls.length).toBe(2);
  await first.close();
  for (const { error } of await Promise.all(calls)) {
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("server 'one'") });
  }
  owned(await startV1Http({ port: first.port }));
  await soon(async () =>
    textOf((await wire.send('tools/call', { name: 'echo', arguments: { text: 'x' } })).result ?? {}),
  ).toBe('x');
  expect(textOf(await modern.call('echo', { text: 'y' }))).toBe('y');
});

test('B-2, D-3: a task fails with the reason when its server goes down', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, FAST);
  const wire = await LegacyWire.open(`${url}/one`);
  const { taskId } = await wire.begin('slow', { ms: 600_000 });
  await soon(() => server.state.calls.length).toBe(1);
  const result = wire.send('tasks/result', { taskId });
  await server.close();
  expect((await result).error).toMatchObject({ message: expect.stringContaining("server 'one'") });
  const task = await wire.request('tasks/get', { taskId });
  expect(task).toMatchObject({ status: 'failed', statusMessage: expect.stringContaining("server 'one'") });
});
