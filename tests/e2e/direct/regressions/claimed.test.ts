import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';
import { puppet, TOOL } from './puppet.ts';

const CALL = { name: TOOL, arguments: { name: 'a' } };

async function behind() {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config });
  return { server, direct: `${url}/one`, hub: await hubOverHttp(url, 'modern') };
}

/** One call that its client has left. */
async function left({ server, direct, hub }: Awaited<ReturnType<typeof behind>>, wire: ModernWire | LegacyWire) {
  const { message, headers } = wire.raw('tools/call', CALL);
  const sent = postAndLeave(direct, message, headers);
  await server.begun('a');
  sent.destroy();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
}

test.each(['legacy', 'modern'] as const)(
  'T-4: only one of two simultaneous identical calls takes over the abandoned call (%s)',
  async (era) => {
    const behindIt = await behind();
    const { server, direct } = behindIt;
    const wire = era === 'legacy' ? await LegacyWire.open(direct) : new ModernWire(direct, { capabilities: ROUNDS });
    await left(behindIt, wire);
    const both = [wire.request('tools/call', CALL), wire.request('tools/call', CALL)];
    await soon(() => server.calls).toEqual(['a', 'a']);
    server.end('a');
    expect(textOf(await Promise.race(both))).toBe('end of a');
  },
);

test('T-4, H-6: a result that was read at the hub is not given to a later identical call', async () => {
  const behindIt = await behind();
  const { server, direct, hub } = behindIt;
  const wire = new ModernWire(direct, { capabilities: ROUNDS });
  await left(behindIt, wire);
  server.end('a');
  const [task] = await tasksOf(hub);
  expect((await hub.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('end of a');
  const again = wire.request('tools/call', CALL);
  await soon(() => server.calls).toEqual(['a', 'a']);
  server.end('a');
  expect(textOf(await again)).toBe('end of a');
});
