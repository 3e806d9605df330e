import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { owned } from '../../../support/owned.ts';
import { killable, restart } from '../../restart/killable.ts';
import { ModernWire } from '../modern-wire.ts';

test('P-2, D-5: server/discover is the same after a restart that resumes a task', async () => {
  const server = owned(await startTasksV1Http());
  const gateway = await killable({ core: { url: server.url } });
  const before = new ModernWire(`${gateway.url}/core`);
  const hello = await before.request('server/discover');
  expect(await before.call('hold')).toMatchObject({ resultType: 'task' });
  await restart(gateway);
  expect(await new ModernWire(`${gateway.url}/core`).request('server/discover')).toEqual(hello);
});
