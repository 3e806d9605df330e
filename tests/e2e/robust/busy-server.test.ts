import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { oddChild } from './odd-server.ts';

/** Longer than a ping is waited for. */
const BUSY_MS = 7000;

test('B-2: a command server that is too busy to answer a ping is not treated as lost', async () => {
  const { url, logs } = await httpGateway({ odd: oddChild() }, { servers: { pingMs: 500 } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'odd', tool: 'block', args: { ms: BUSY_MS } });
  expect(reply.text).toBe(`blocked for ${BUSY_MS}`);
  const again = await hub.call('execute_tool', { server: 'odd', tool: 'echo', args: { text: 'still here' } });
  expect(again.text).toBe('still here');
  expect(logs.map(({ event }) => event)).not.toContain('server_disconnected');
});
