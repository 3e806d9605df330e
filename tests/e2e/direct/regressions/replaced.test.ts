import { expect, test } from 'vitest';
import { startRichHttp } from '../../../servers/rich-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { levelsHeard } from '../levels-heard.ts';
import { ModernWire } from '../modern-wire.ts';
import type { MessageStream } from '../stream.ts';

const WATCHED = ['rich://text', 'rich://blob'];
const UPDATED = 'notifications/resources/updated';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const LEVEL = 'io.modelcontextprotocol/logLevel';
const ERAS = ['legacy', 'modern'] as const;

/** A server that the hub can replace by another one that is just the same. */
async function replaceable(era: (typeof ERAS)[number]) {
  const [before, after] = [owned(await startRichHttp(era)), owned(await startRichHttp(era))];
  const { url } = await httpGateway({ one: { url: before.url } });
  const hub = await hubOverHttp(url, 'modern');
  const replace = async (): Promise<void> => {
    expect(await hub.call('add_server', { name: 'one', url: after.url })).toMatchObject({ isError: false });
  };
  return { direct: `${url}/one`, replace };
}

/** Which of those that are watched the stream hears of when all of them change. */
async function heardOf(wire: LegacyWire | ModernWire, stream: MessageStream): Promise<unknown[]> {
  await wire.call('change', { what: WATCHED });
  return [...new Set(stream.told(UPDATED).map(({ uri }) => uri))];
}

test.each(ERAS)(
  'S-3, D-5: resource subscriptions of a legacy client move to the server that replaces another (%s server)',
  async (era) => {
    const { direct, replace } = await replaceable(era);
    const wire = await LegacyWire.open(direct);
    const stream = await wire.listen();
    for (const uri of WATCHED) await wire.request('resources/subscribe', { uri });
    await replace();
    await soon(async () => heardOf(wire, stream)).toEqual(WATCHED);
  },
);

test.each(ERAS)(
  'S-3, D-5: the log level of a legacy client moves to the server that replaces another (%s server)',
  async (era) => {
    const { direct, replace } = await replaceable(era);
    const wire = await LegacyWire.open(direct);
    const levels = async (): Promise<unknown[]> => levelsHeard(wire);
    await wire.request('logging/setLevel', { level: 'warning' });
    expect(await levels()).toEqual(['warning', 'emergency']);
    await replace();
    await soon(levels).toEqual(['warning', 'emergency']);
  },
);

test('S-3, D-5: a legacy server that replaces another gets the log level of modern requests', async () => {
  const { direct, replace } = await replaceable('legacy');
  const wire = new ModernWire(direct);
  const levels = async (): Promise<unknown[]> => {
    const stream = await wire.stream('tools/call', { name: 'talk', arguments: {}, _meta: { [LEVEL]: 'warning' } });
    await stream.result();
    return stream.told('notifications/message').map(({ level }) => level);
  };
  expect(await levels()).toEqual(['warning', 'emergency']);
  await replace();
  await soon(levels).toEqual(['warning', 'emergency']);
});

test.each(ERAS)(
  'S-3, D-5: a `subscriptions/listen` stream continues with the server that replaces another (%s server)',
  async (era) => {
    const { direct, replace } = await replaceable(era);
    const wire = new ModernWire(direct);
    const stream = await wire.listen({ resourceSubscriptions: WATCHED });
    await stream.heard(ACKNOWLEDGED);
    await replace();
    await soon(async () => heardOf(wire, stream)).toEqual(WATCHED);
  },
);

test.each(ERAS)(
  'S-3, D-5: after a server is replaced, a new subscription is acknowledged and reports changes (%s server)',
  async (era) => {
    const { direct, replace } = await replaceable(era);
    const wire = new ModernWire(direct);
    const earlier = await wire.listen({ resourceSubscriptions: WATCHED });
    await earlier.heard(ACKNOWLEDGED);
    await replace();
    const stream = await wire.listen({ resourceSubscriptions: WATCHED });
    expect(await stream.heard(ACKNOWLEDGED)).toMatchObject({
      params: { notifications: { resourceSubscriptions: WATCHED } },
    });
    await soon(async () => heardOf(wire, stream)).toEqual(WATCHED);
  },
);
