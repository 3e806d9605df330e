import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';

const HOUR_MS = 3_600_000;

test('T-2, X-3: after the machine slept for an hour, overdue tasks and questions expire', async () => {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } }, { tasks: { cleanupMs: 50 } });
  const session = await rawSession(gateway.url);
  const slow = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 };
  const working = taskIdOf(await session.reply('execute_tool', slow));
  const { elicitations } = await session.reply('execute_tool', { server: 'one', tool: 'ask', timeout_ms: 1000 });
  expect(elicitations).toHaveLength(1);
  const [live] = gateway.gateway.sessions;
  expect(live?.tasks.get(working).status).toBe('working');
  expect(live?.interactions.size).toBe(1);
  // The clock has gone on; timers have not.
  defer(async () => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MS });
  await expect.poll(() => live?.tasks.get(working).status).toBe('expired');
  await expect.poll(() => live?.interactions.size).toBe(0);
});
