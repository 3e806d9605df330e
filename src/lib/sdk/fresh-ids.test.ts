import { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { scriptedServer } from '../../../tests/support/scripted-server.ts';
import { ANY_RESULT } from './any-result.ts';
import { useFreshIds } from './fresh-ids.ts';

test('B-5: after the connection is made, a client uses ids that no earlier run can have used', async () => {
  const { transport, received } = await scriptedServer('legacy');
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  useFreshIds(transport);
  await client.request({ method: 'ping' }, ANY_RESULT);
  await client.request({ method: 'ping' }, ANY_RESULT);
  const ids = received.flatMap((message) =>
    'method' in message && 'id' in message && message.method === 'ping' ? [message.id] : [],
  );
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^[\w-]{8}\.\d+$/);
  await client.close();
});

test('B-5: a request is cancelled with the id that it was sent with', async () => {
  const { transport, received } = await scriptedServer('legacy', () => undefined);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  useFreshIds(transport);
  const cancel = new AbortController();
  const asked = client.request({ method: 'ping' }, ANY_RESULT, { signal: cancel.signal });
  await expect.poll(() => received.some((message) => 'method' in message && message.method === 'ping')).toBe(true);
  cancel.abort();
  await expect(asked).rejects.toThrow();
  const cancelled = (): unknown =>
    received.find((message) => 'method' in message && message.method === 'notifications/cancelled');
  const ping = received.find((message) => 'method' in message && message.method === 'ping') as { id: unknown };
  await expect.poll(cancelled).toMatchObject({ params: { requestId: ping.id } });
  await client.close();
});
