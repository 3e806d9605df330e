import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { owned } from '../../../support/owned.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { killable } from '../../restart/killable.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';

test('S-4, D-4: a gateway stops although a client follows a task', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ ext: { url: server.url } });
  const direct = `${gateway.url}/ext`;
  const wire = new ModernWire(direct, { capabilities: ROUNDS });
  const { message, headers } = wire.raw('tools/call', { name: 'hold', arguments: {} });
  const left = postAndLeave(direct, message, headers);
  await soon(() => requestsOf(server.state, 'tools/call').length).toBe(1);
  left.destroy();
  await soon(() => gateway.log.some((line) => line.includes('"because":"gone"'))).toBe(true);
  // The same call takes it over, and waits for it.
  const again = wire.send('tools/call', { name: 'hold', arguments: {} });
  const legacy = await LegacyWire.open(direct);
  const { taskId } = await legacy.begin('hold');
  const result = await legacy.stream('tasks/result', { taskId });
  const started = Date.now();
  const [code] = await Promise.all([gateway.stop(), again.catch(() => undefined)]);
  expect(code).toBe(0);
  expect(Date.now() - started).toBeLessThan(5000);
  await result.raw.ended;
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(2);
});
