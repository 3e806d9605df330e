/**
 * The gateway handles requests and notifications in the fallback handlers of the SDK's protocol objects, because handlers
 * with a schema lose the fields that the schema does not name. What the transports add under a symbol must arrive, too.
 */

import { expect, test, vi } from 'vitest';
import { scriptedServer, type ScriptedServer } from '../../../tests/support/scripted-server.ts';
import { ANY_RESULT } from './any-result.ts';
import { ExactClient } from './exact-client.ts';

const TAG = Symbol('tag');
const PARAMS = { message: 'Name?', mode: 'form', requestedSchema: { type: 'object', properties: {} }, 'x-vendor': [1] };

async function connected(): Promise<ScriptedServer & { client: ExactClient }> {
  const server = await scriptedServer('legacy');
  const client = new ExactClient({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, roots: {} } });
  await client.connect(server.transport);
  return { ...server, client };
}

test.each(['elicitation/create', 'sampling/createMessage', 'roots/list', 'x/unknown'])(
  'D-5, H-3: a request %s arrives as it was delivered, and its result leaves as it is',
  async (method) => {
    const { client, transport, received } = await connected();
    const params = { ...PARAMS, [TAG]: 'c' };
    const result = { action: 'accept', 'x-vendor': { a: 1 } };
    const handle = vi.fn(async () => result);
    client.fallbackRequestHandler = handle;
    transport.onmessage?.({ jsonrpc: '2.0', id: 'q', method, params });
    await expect.poll(() => received.at(-1)).toMatchObject({ id: 'q', result });
    const [request] = handle.mock.calls[0] as unknown as [{ method: string; params: Record<PropertyKey, unknown> }];
    expect(request).toMatchObject({ method, params: PARAMS });
    expect(request.params[TAG]).toBe('c');
    await client.close();
  },
);

test.each(['notifications/progress', 'notifications/message', 'notifications/tools/list_changed', 'x/unknown'])(
  'D-5, H-3: a notification %s arrives as it was delivered',
  async (method) => {
    const { client, transport } = await connected();
    client.removeNotificationHandler('notifications/progress');
    const handle = vi.fn(async () => {});
    client.fallbackNotificationHandler = handle;
    const params = { progressToken: 'p', progress: 1, level: 'info', data: 1, 'x-vendor': [1], [TAG]: 'c' };
    transport.onmessage?.({ jsonrpc: '2.0', method, params });
    await expect.poll(() => handle.mock.calls.length).toBe(1);
    const [told] = handle.mock.calls[0] as unknown as [{ method: string; params: Record<PropertyKey, unknown> }];
    expect(told).toMatchObject({ method, params: { progressToken: 'p', 'x-vendor': [1] } });
    expect(told.params[TAG]).toBe('c');
    await client.close();
  },
);

test('H-3: the headers of a request reach the transport', async () => {
  const { client, transport } = await connected();
  const send = vi.spyOn(transport, 'send');
  await client.request({ method: 'ping' }, ANY_RESULT, { headers: { 'x-meanwhile-call': 'c' } });
  expect(send.mock.calls[0]?.[1]).toMatchObject({ headers: { 'x-meanwhile-call': 'c' } });
  await client.close();
});
