import { test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { legacy, programByHand, text, toolNamed } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';

const FAST = { servers: { reconnect: { firstMs: 20, maxMs: 100 } } };

test('B-3: after a server restarts, a missing resource does not affect the other subscriptions', async () => {
  let starts = 0;
  const hello = legacy({}, { tasks: undefined, resources: { subscribe: true } });
  const subscribed: string[] = [];
  const program = await programByHand({
    ...hello,
    initialize: (asker, params) => {
      starts += 1;
      hello['initialize']?.(asker, params);
    },
    'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'forbidden')] }),
    'tools/call': (asker) => (starts === 1 ? asker.breakOff() : asker.reply(text('done'))),
    'resources/subscribe': (asker, { uri }) => {
      if (starts > 1 && uri === 'test://a') return asker.fail(-32_002, 'it is gone');
      subscribed.push(`${starts} ${String(uri)}`);
      asker.reply({});
    },
  });
  const { url } = await httpGateway({ one: program.config }, FAST);
  const wire = await LegacyWire.open(`${url}/one`);
  for (const uri of ['test://a', 'test://b']) await wire.request('resources/subscribe', { uri });
  await wire.error('tools/call', { name: 'work', arguments: {} });
  await soon(() => subscribed).toEqual(['1 test://a', '1 test://b', '2 test://b']);
});
