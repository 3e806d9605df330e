import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startV1Http } from '../../tests/servers/v1-http.ts';
import { ATTEMPTS, connectTo, FIRST_MS } from '../../tests/support/connection.ts';
import { owned } from '../../tests/support/owned.ts';

/** An address at which nothing listens. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/mcp`;
}

describe('a server that cannot be reached', () => {
  test('B-2: is retried with growing delays a limited number of times, and then on its next use', async () => {
    const { connection, clock, state, waits } = connectTo(await deadAddress());
    await expect(connection.ready()).rejects.toMatchObject({ failure: 'refused' });
    const delays: number[] = [];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      await expect.poll(state).toBe('waiting');
      expect(connection.status).toMatchObject({ attempt });
      delays.push(waits());
      clock.advance(waits() - 1);
      expect(state()).toBe('waiting');
      clock.advance(1);
      expect(state()).toBe('connecting');
    }
    await expect.poll(state).toBe('failed');
    expect(clock.armed).toBe(0);
    // With a jitter.
    for (const [index, delay] of delays.entries()) {
      expect(delay).toBeGreaterThan((FIRST_MS * 2 ** index) / 2);
      expect(delay).toBeLessThan(FIRST_MS * 2 ** index * 2);
    }
    await expect(connection.ready()).rejects.toMatchObject({ failure: 'refused' });
  });

  test('B-2: is tried at once on use, which does not count as a retry', async () => {
    const { connection, clock, state } = connectTo(await deadAddress());
    await connection.ready().catch(() => {});
    expect(connection.status).toMatchObject({ state: 'waiting', attempt: 1 });
    await expect(connection.ready()).rejects.toMatchObject({ failure: 'refused' });
    expect(connection.status).toMatchObject({ state: 'waiting', attempt: 1 });
    await connection.close();
    expect(state()).toBe('closed');
    expect(clock.armed).toBe(0);
  });
});

describe('a server that is lost', () => {
  test('B-2: starts with the first retry delay again after a stable connection', async () => {
    const server = owned(await startV1Http());
    const { connection, clock, told, state } = connectTo(server.url);
    await connection.ready();
    clock.advance(10_000);
    await server.close();
    await expect.poll(state).toBe('waiting');
    expect(connection.status).toMatchObject({ attempt: 1 });
    expect(told).toEqual(['first', 'lost']);
    const again = owned(await startV1Http({ port: server.port }));
    clock.advance(2 * FIRST_MS);
    await expect.poll(state).toBe('connected');
    expect(told).toEqual(['first', 'lost', 'restart']);
    // It did not hold long enough to count.
    await again.close();
    await expect.poll(state).toBe('waiting');
    expect(connection.status).toMatchObject({ attempt: 2 });
  });
});

describe('a server that does not answer', () => {
  test('B-2: fails with a timeout after the connect timeout', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { connection, clock, state } = connectTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`);
    const attempt = connection.ready().catch((error: Error & { failure?: string }) => error.failure);
    await once(silent, 'request');
    clock.advance(10_000);
    expect(await attempt).toBe('timeout');
    expect(state()).toBe('waiting');
    await connection.close();
    silent.closeAllConnections();
    silent.close();
  });
});
