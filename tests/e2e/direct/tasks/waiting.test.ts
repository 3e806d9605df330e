import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';

/** Something is said every ten seconds. */
const BEAT_MS = 10_000;
/** Enough for all calls to be there when the time jumps. */
const LONG_MS = 4000;

test('D-2, T-7: a waiting client regularly gets a ping, or progress if it sent a token', async () => {
  const server = owned(await startV1Http());
  const clock = new JumpingClock();
  const { url } = await httpGateway({ one: { url: server.url } }, {}, clock);
  const wire = await LegacyWire.open(`${url}/one`);
  const modern = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const { taskId } = await wire.begin('slow', { ms: LONG_MS, text: 'task' });
  const args = { ms: LONG_MS, text: 'long' };
  const params = { name: 'slow', arguments: args, _meta: { progressToken: 'mine' } };
  // It begins with the first thing that there is to say.
  const begins = modern.stream('tools/call', params);
  const [plain, withToken, result] = await Promise.all([
    wire.callStream('slow', args),
    wire.stream('tools/call', params),
    wire.stream('tasks/result', { taskId }),
  ]);
  await soon(() => server.state.calls.length).toBe(4);
  clock.jump(BEAT_MS);
  const modernToken = await begins;
  for (const stream of [plain, withToken, modernToken]) expect(textOf(await stream.result())).toBe('long');
  expect(textOf(await result.result())).toBe('task');
  for (const stream of [plain, result]) {
    expect(stream.told('ping')).toHaveLength(1);
    expect(stream.told('notifications/progress')).toEqual([]);
  }
  for (const stream of [withToken, modernToken]) {
    const [progress, ...more] = stream.told('notifications/progress');
    expect(progress).toMatchObject({ progressToken: 'mine', message: expect.stringContaining('slow') });
    expect(more).toEqual([]);
    expect(stream.told('ping')).toEqual([]);
  }
});
