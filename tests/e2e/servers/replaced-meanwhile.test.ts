import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { soon } from '../flows/watch.ts';
import { httpByHand, legacy, type Asker, type Script } from '../native/by-hand.ts';

const CAPABILITIES = { tasks: undefined, resources: { subscribe: true } };
const SUBSCRIBING: Script = {
  'resources/subscribe': (asker) => asker.reply({}),
  'resources/unsubscribe': (asker) => asker.reply({}),
};

test('S-3, B-3: subscriptions made while a server is being replaced reach the new server', async () => {
  const before = await httpByHand(legacy(SUBSCRIBING, CAPABILITIES));
  let greet: (() => void) | undefined;
  const script = legacy(SUBSCRIBING, CAPABILITIES);
  const initialize = (asker: Asker): void => {
    greet = () => script['initialize']?.(asker, {});
  };
  const after = await httpByHand({ ...script, initialize });
  const hub = await hubOverHttp((await httpGateway({ one: before.config })).url);
  await hub.call('subscribe_resource', { server: 'one', uri: 'test:old' });

  const replacing = hub.call('add_server', { name: 'one', url: after.config.url });
  await soon(() => greet).toBeDefined();
  await hub.call('unsubscribe_resource', { server: 'one', uri: 'test:old' });
  await hub.call('subscribe_resource', { server: 'one', uri: 'test:new' });
  greet?.();
  expect(await replacing).toMatchObject({ isError: false });

  const asked = (): string[] =>
    after.heard
      .filter(({ method }) => String(method).startsWith('resources/'))
      .map(({ method, params }) => `${String(method)} ${(params as { uri: string }).uri}`);
  await soon(asked).toContain('resources/subscribe test:new');
  expect(asked().lastIndexOf('resources/unsubscribe test:old')).toBeGreaterThan(
    asked().lastIndexOf('resources/subscribe test:old'),
  );
});
