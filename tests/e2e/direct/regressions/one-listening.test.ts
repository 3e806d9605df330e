import { expect, test } from 'vitest';
import { startRichHttp } from '../../../servers/rich-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const URIS = ['rich://text', 'rich://blob', 'rich://counter'];
const CHANGED = 'notifications/tools/list_changed';
const UPDATED = 'notifications/resources/updated';
/** The list comes last. */
const CHANGE = { what: ['rich://text', 'tools'] };

async function behind() {
  const server = owned(await startRichHttp('modern'));
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  return { gateway, direct: `${url}/one` };
}

test('D-5, B-1: a change of one of several resources is reported once, and not at all without subscribers', async () => {
  const { gateway, direct } = await behind();
  const wire = new ModernWire(direct);
  const stream = await wire.listen({ toolsListChanged: true, resourceSubscriptions: URIS });
  await stream.heard('notifications/subscriptions/acknowledged');
  await wire.call('change', CHANGE);
  await stream.heard(CHANGED);
  expect(stream.told(UPDATED).map(({ uri }) => uri)).toEqual(['rich://text']);

  stream.drop();
  let heard: string[] = [];
  for (const { connections } of gateway.sessions) {
    connections.onNotification.add((_server, method) => heard.push(method));
  }
  const heardOfChange = async (): Promise<string[]> => {
    heard = [];
    await wire.call('change', CHANGE);
    await soon(() => heard).toContain(CHANGED);
    return heard;
  };
  await soon(heardOfChange).toEqual([CHANGED]);
});

test('D-5, B-1: a legacy client that subscribes to several resources gets one notification for a change', async () => {
  const { direct } = await behind();
  const wire = await LegacyWire.open(direct, { capabilities: {} });
  const stream = await wire.listen();
  await Promise.all(URIS.map(async (uri) => wire.request('resources/subscribe', { uri })));
  await wire.call('change', CHANGE);
  await stream.heard(CHANGED);
  expect(stream.told(UPDATED).map(({ uri }) => uri)).toEqual(['rich://text']);
});
