import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { ANY_RESULT } from './any-result.ts';
import { isConnectionClosed } from './connection-closed.ts';

/** The reason with which a handler's signal is aborted, once its side is closed. */
async function abortedBy(side: 'client' | 'server'): Promise<unknown> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  const server = new Server({ name: 'test', version: '1' }, { capabilities: {} });
  const reason = new Promise<unknown>((resolve) => {
    const handle = async (_request: unknown, { mcpReq }: { mcpReq: { signal: AbortSignal } }) => {
      mcpReq.signal.addEventListener('abort', () => resolve(mcpReq.signal.reason), { once: true });
      void (side === 'client' ? client : server).close();
      return new Promise<never>(() => {});
    };
    client.fallbackRequestHandler = handle;
    server.fallbackRequestHandler = handle;
  });
  await Promise.all([client.connect(near), server.connect(far)]);
  const asked =
    side === 'client'
      ? server.request({ method: 'x/unknown' }, ANY_RESULT)
      : client.request({ method: 'x/unknown' }, ANY_RESULT);
  asked.catch(() => {});
  return reason;
}

test.each(['client', 'server'] as const)(
  'T-4: a closed connection is the reason on the side of the %s',
  async (side) => {
    expect(isConnectionClosed(await abortedBy(side))).toBe(true);
  },
);

test('T-4: a cancellation is another reason', () => {
  expect(isConnectionClosed(new Error('cancelled'))).toBe(false);
  expect(isConnectionClosed('cancelled')).toBe(false);
});
