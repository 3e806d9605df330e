import { expect, test, vi } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { owned } from '../../../support/owned.ts';
import { modernCall, modernHeaders, post, postAndLeave } from '../../../support/raw-http.ts';
import { killable, rows } from '../../restart/killable.ts';

test('S-4, D-2: the gateway stops while a client waits for a task that continues on its server', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ one: { url: server.url } });
  const url = `${gateway.url}/one`;
  const call = modernCall('hold', {}) as { params: { _meta: Record<string, unknown> } };
  call.params._meta['io.modelcontextprotocol/clientCapabilities'] = { elicitation: {} };
  const called = (): number => server.state.received.filter(({ message }) => message.method === 'tools/call').length;
  const first = postAndLeave(url, call, modernHeaders('hold'));
  await vi.waitFor(
    () => expect(server.state.received.some(({ message }) => message.method === 'tasks/get')).toBe(true),
    10_000,
  );
  first.destroy();
  await vi.waitFor(
    () => expect(rows(gateway.store, 'tasks')).toMatchObject([{ abandoned: true, checkpoint: {} }]),
    5000,
  );
  const second = post(url, { ...call, id: 2 }, modernHeaders('hold')).then(JSON.stringify, String);
  // The same call again is the same run, which it waits for.
  await expect(Promise.race([second, new Promise((resolve) => setTimeout(resolve, 300))])).resolves.toBeUndefined();
  expect(called()).toBe(1);
  await gateway.stop();
  expect(await second).toMatch(/continues as task|socket hang up/);
  expect(rows(gateway.store, 'tasks')).toMatchObject([{ status: 'working', checkpoint: {} }]);
});
