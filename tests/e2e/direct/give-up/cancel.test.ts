import { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway, stdioGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { StdioTransport } from '../../../support/stdio-transport.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';

const ENDLESS = { ms: 600_000, text: 'unwanted' };

async function behind() {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const wire = await LegacyWire.open(`${url}/one`);
  return { server, hub, wire };
}

test.each([{ reason: 'the user pressed escape' }, {}])(
  'T-4, D-2: a cancelled call is cancelled on the server and leaves no task: %j',
  async (why) => {
    const { server, hub, wire } = await behind();
    const stream = await wire.callStream('slow', ENDLESS);
    await wire.notify('notifications/cancelled', { requestId: stream.id, ...why });
    await soon(() => server.state.cancelled).toEqual(['slow:unwanted']);
    expect(await tasksOf(hub)).toEqual([]);
    expect((await wire.request('tasks/list'))['tasks']).toEqual([]);
  },
);

test('T-4: a client can cancel a call that it took over', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('slow', ENDLESS);
  stream.drop();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
  const again = await wire.callStream('slow', ENDLESS);
  expect(server.state.cancelled).toEqual([]);
  await wire.notify('notifications/cancelled', { requestId: again.id, reason: 'enough' });
  await soon(() => server.state.cancelled).toEqual(['slow:unwanted']);
  expect(await tasksOf(hub)).toMatchObject([{ status: 'cancelled' }]);
  expect(server.state.calls).toHaveLength(1);
});

test('T-4: cancelling a call withdraws its question', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('ask');
  const asked = await stream.heard('elicitation/create');
  await wire.notify('notifications/cancelled', { requestId: stream.id, reason: 'enough' });
  await soon(() => server.state.cancelled).toEqual(['ask']);
  expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  // An answer that comes all the same is for nobody, and harms nobody.
  expect(await stream.answer(asked, { action: 'decline' })).toBe(202);
  expect(await wire.request('ping')).toEqual({});
});

test.each(['legacy', 'modern'] as const)(
  'T-4: over stdio `notifications/cancelled` cancels a call (%s)',
  async (era) => {
    const server = owned(await startV1Http());
    const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
    const client = owned(new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } }));
    await client.connect(new StdioTransport(await stdioGateway({ one: { url: server.url } }, {}, 'one')));
    const user = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: ENDLESS }, { signal: user.signal });
    const cancelled = expect(call).rejects.toThrow();
    await soon(() => server.state.calls.length).toBe(1);
    user.abort('enough');
    await cancelled;
    await soon(() => server.state.cancelled).toEqual(['slow:unwanted']);
  },
);
