import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { killable, restart } from '../../restart/killable.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

/** What only the hub has. */
const HUB_WORDS = /list_tasks|await_activity|cancel_task|task_ttl_ms/;

const SLOW = { ms: 600_000 };

test('X-5, P-2: the error after a restart names methods of the direct endpoint, not hub tools', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const wire = await LegacyWire.open(`${gateway.url}/one`);
  const stream = await wire.callStream('slow', SLOW);
  await restart(gateway);
  const { error } = await (await wire.listen(stream.lastEventId)).answered();
  expect(error?.message).toMatch(/^gateway restarted while this request was open; .*tasks\/list/);
  expect(error?.message).not.toMatch(HUB_WORDS);
});

test('X-3, D-2, D-4: the error for too many working tasks names no hub tools', async () => {
  const server = owned(await startV1Http());
  const settings = { tasks: { perSession: 1 }, direct: { taskAfterMs: 50 } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const legacy = await LegacyWire.open(`${url}/one`);
  const modern = new ModernWire(`${url}/one`);
  await legacy.begin('slow', SLOW);
  expect(await modern.call('slow', SLOW)).toMatchObject({ resultType: 'task' });
  for (const wire of [legacy, modern]) {
    const error = await wire.error('tools/call', { name: 'slow', arguments: { ms: 1 } });
    expect(error?.message).toMatch(/limit tasks\.perSession = 1\); wait for one to finish, or cancel one$/);
  }
});

test('T-2, D-3, D-4: the error of an expired task names no hub tools', async () => {
  const server = owned(await startV1Http());
  const settings = { tasks: { ttlMs: 200 }, direct: { taskAfterMs: 50 } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const legacy = await LegacyWire.open(`${url}/one`);
  const { taskId } = await legacy.begin('slow', SLOW);
  const error = await legacy.error('tasks/result', { taskId });
  expect(error?.message).toMatch(/^the task exceeded its TTL of 200 ms; .*tasks\.ttlMs/);
  expect(error?.message).not.toMatch(HUB_WORDS);
  const modern = new ModernWire(`${url}/one`);
  const task = await modern.task((await modern.call('slow', SLOW))['taskId'], 'failed');
  expect(task).toMatchObject({ error: { message: expect.stringContaining('exceeded its TTL of 200 ms') } });
  expect(JSON.stringify(task)).not.toMatch(HUB_WORDS);
});
