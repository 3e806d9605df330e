import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

test('X-3: a call waits at most limits.waitMs, whatever timeout it asks for', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { limits: { waitMs: 300 } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 600_000 },
    timeout_ms: 500_000,
  });
  expect(taskIdOf(reply)).toBeTypeOf('string');
  expect(reply.text).toContain('300');
});
