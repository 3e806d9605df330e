import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { post } from '../../../support/raw-http.ts';
import { ModernWire } from '../modern-wire.ts';

const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

async function listenRequest() {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const { message, headers } = new ModernWire(`${url}/one`).raw('subscriptions/listen', { notifications: {} });
  return { url: `${url}/one`, message, headers };
}

test('D-4: `subscriptions/listen` without the Mcp-Method header is refused', async () => {
  const { url, message, headers } = await listenRequest();
  const { 'mcp-method': _method, ...others } = headers;
  expect(await post(url, message, others)).toMatchObject({ status: 400, json: { error: { code: -32020 } } });
});

test('D-4: `subscriptions/listen` in an unknown version gets an error with the supported versions', async () => {
  const { url, message, headers } = await listenRequest();
  const params = message['params'] as { _meta: Record<string, unknown> };
  params._meta[PROTOCOL_VERSION] = '2027-01-01';
  expect(await post(url, message, { ...headers, 'mcp-protocol-version': '2027-01-01' })).toMatchObject({
    status: 400,
    json: { error: { code: -32022, data: { supported: ['2026-07-28'] } } },
  });
});
