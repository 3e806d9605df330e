import { expect, test, vi } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { rawSession } from '../../support/raw-http.ts';
import { oddModernServer, oddServer } from './odd-server.ts';

const NEVER = (): void => {};
const capabilities = { resources: { subscribe: true } };

const SERVERS = {
  legacy: () =>
    oddServer({
      initialize: ({ reply }) =>
        reply({ protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'odd', version: '1.0.0' } }),
      'resources/subscribe': NEVER,
      'resources/unsubscribe': NEVER,
    }),
  modern: () =>
    oddModernServer({
      'server/discover': ({ reply }) =>
        reply({
          resultType: 'complete',
          ttlMs: 0,
          cacheScope: 'private',
          supportedVersions: ['2026-07-28'],
          capabilities,
        }),
      'subscriptions/listen': NEVER,
    }),
};

test.each([
  ['legacy', 'session'],
  ['modern', 'session'],
  ['legacy', 'principal'],
] as const)(
  'X-3, H-12: a subscription that the server never answers times out after `calls.timeoutMs` (%s, shared by %s)',
  async (era, share) => {
    const odd = await SERVERS[era]();
    const { url, gateway, listener } = await httpGateway(
      { odd: { url: odd.url, ...(share === 'principal' && { share }) } },
      { calls: { timeoutMs: 700 } },
    );
    const client = await rawSession(url);
    for (const tool of ['subscribe_resource', 'unsubscribe_resource', 'subscribe_resource']) {
      const reply = await client.reply(tool, { server: 'odd', uri: 'test://one' });
      expect(reply.code, tool).toBe('TOOL_ERR_TIMEOUT');
      expect(reply.text).toContain('within 700 ms');
    }
    // A subscription that failed is not asked for again after a restart.
    expect(gateway.sessions[0]?.record.preferences).toBeUndefined();
    await vi.waitFor(() => expect(gateway.sessions.map(({ busy }) => busy)).toEqual([false]));
    expect(listener.counts.requests).toBe(0);
  },
);
