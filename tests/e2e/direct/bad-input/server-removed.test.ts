import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';
import { behind } from './behind.ts';

const ENDLESS = { name: 'slow', arguments: { ms: 600_000 } };

test('S-3, D-2: removing a server ends its calls with the reason and ends its sessions', async () => {
  const { running, one, ext, plain } = await behind();
  const hub = await hubOverHttp(running.url);
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  await client.connect(new StreamableHTTPClientTransport(new URL(one)));
  const wire = await LegacyWire.open(one);
  const modern = new ModernWire(one, { capabilities: {} });
  const other = await LegacyWire.open(ext);
  const { taskId } = await wire.begin('slow', { ms: 600_000, text: 'task' });
  const listening = await modern.listen({ toolsListChanged: true });
  const standing = await wire.listen();
  const removed = /removed|ended/;
  const calls = [
    expect(client.request({ method: 'tools/call', params: ENDLESS }, ResultSchema)).rejects.toThrow(removed),
    wire.send('tools/call', ENDLESS).then(({ error }) => expect(error?.message).toMatch(removed)),
    modern.send('tools/call', ENDLESS).then(({ error }) => expect(error?.message).toMatch(removed)),
    wire.send('tasks/result', { taskId }).then(({ error }) => expect(error?.message).toMatch(removed)),
  ];
  await soon(() => plain.state.calls.length).toBe(4);
  // Long enough for their streams to begin.
  await soon(() => running.listener.counts.streams).toBeGreaterThanOrEqual(4);
  await hub.call('remove_server', { name: 'one' });
  await Promise.all(calls);
  await Promise.all([listening.raw.ended, standing.raw.ended]);
  const { status, error } = await wire.send('tools/list');
  expect({ status, message: error?.message }).toEqual({ status: 404, message: expect.stringContaining('known: ext') });
  expect(running.gateway.sessions.filter(({ view }) => view.kind === 'direct' && view.server === 'one')).toEqual([]);
  expect(textOf(await other.call('echo', { text: 'not concerned' }))).toBe('not concerned');
});

test('S-3, D-2: after a server is replaced, new sessions reach the new server', async () => {
  const { running, one, keeper, plain } = await behind();
  const hub = await hubOverHttp(running.url);
  const wire = await LegacyWire.open(one);
  const call = wire.send('tools/call', ENDLESS);
  await soon(() => plain.state.calls.length).toBe(1);
  await hub.call('add_server', { name: 'one', url: keeper.url });
  expect((await call).error?.message).toMatch(/replaced/);
  const next = await LegacyWire.open(one);
  const { tools } = await next.request('tools/list');
  expect((tools as { name: string }[]).map(({ name }) => name)).toContain('hold');
});
