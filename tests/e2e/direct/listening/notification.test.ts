import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { post } from '../../../support/raw-http.ts';
import { ModernWire } from '../modern-wire.ts';

test('D-4: `subscriptions/listen` without an id is accepted as a notification and opens no stream', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const { message, headers } = new ModernWire(`${url}/one`).raw('subscriptions/listen', {
    notifications: { toolsListChanged: true },
  });
  const { id: _id, ...notification } = message;
  const { status, text } = await post(`${url}/one`, notification, headers);
  expect({ status, text }).toEqual({ status: 202, text: '' });
});
