import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { SLOW_MS } from './leavers.ts';

test.each(['auto', 'cancel'])(
  'T-4, S-1: a client that returns to its session and reuses request ids does not disturb older calls (onCancel: %s)',
  async (onCancel) => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url } }, { calls: { onCancel } });
    const hub = await hubOverHttp(url, 'modern');
    const before = await LegacyWire.open(`${url}/one`);
    const [left, kept] = await Promise.all([
      before.callStream('slow', { ms: SLOW_MS, text: 'left' }),
      before.callStream('slow', { ms: SLOW_MS, text: 'kept' }),
    ]);
    left.drop();
    await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
    const after = new LegacyWire(`${url}/one`, before.sessionId);
    // The first has the id of what was left, the second that of a request which its client still waits for.
    expect(textOf(await after.call('echo', { text: 'hello' }))).toBe('hello');
    expect(await after.error('tools/call', { name: 'echo', arguments: { text: 'too soon' } })).toMatchObject({
      code: -32600,
      message: expect.stringContaining('already in use'),
    });
    expect(textOf(await kept.result())).toBe('kept');
    expect(textOf(await after.call('slow', { ms: SLOW_MS, text: 'left' }))).toBe('left');
    const texts = server.state.calls.map(({ args }) => String(args['text']));
    expect(texts.toSorted()).toEqual(['hello', 'kept', 'left']);
  },
);
