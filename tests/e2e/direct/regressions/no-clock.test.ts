import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire, type LegacyStream } from '../legacy-wire.ts';
import { puppet, TOOL } from './puppet.ts';

const WAYS: Record<string, (wire: LegacyWire, lastEventId: string) => Promise<LegacyStream>> = {
  'comes back to its stream': async (wire, lastEventId) => wire.listen(lastEventId),
  'makes the same call again': async (wire) => wire.callStream(TOOL, { name: 'a' }),
};

test.each(Object.entries(WAYS))(
  'T-4, T-2: a call that is no task has no TTL, also when its client was away and %s',
  async (_way, comeBack) => {
    const server = await puppet();
    const { url, gateway } = await httpGateway({ one: server.config }, { tasks: { ttlMs: 500 } });
    const wire = await LegacyWire.open(`${url}/one`);
    const stream = await wire.callStream(TOOL, { name: 'a' });
    await server.begun('a');
    const { lastEventId } = stream;
    stream.drop();
    await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);
    const back = await comeBack(wire, lastEventId);
    // The time of one that began later is over before that of the first is.
    const later = await wire.begin(TOOL, { name: 'b' });
    await soon(async () => (await wire.request('tasks/get', { taskId: later.taskId }))['status']).toBe('failed');
    server.end('a');
    expect(textOf(await back.result())).toBe('end of a');
    expect(server.calls).toEqual(['a', 'b']);
  },
);
