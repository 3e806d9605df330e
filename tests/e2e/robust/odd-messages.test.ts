import { expect, test } from 'vitest';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import type { Json } from '../../support/hub.ts';
import { errorOf, post, rawSession } from '../../support/raw-http.ts';

const call = (id: unknown, params: Json): Json => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'list_servers', ...params },
});

const ping = (fields: Json): Json => ({ jsonrpc: '2.0', method: 'ping', ...fields });

const REFUSED: [what: string, message: unknown][] = [
  ['a fraction as id', ping({ id: 1.5 })],
  ['an id beyond all integers', ping({ id: 1e300 })],
  ['a result beside the method', ping({ id: 2, result: {} })],
  ['an error beside the method', ping({ id: 3, error: { code: 1, message: 'x' } })],
  ['metadata that is a number', call(4, { _meta: 5 })],
  ['an object as progress token', call(5, { _meta: { progressToken: {} } })],
  ['a fraction as progress token', call(6, { _meta: { progressToken: 1.5 } })],
  ['one such message in a batch', [ping({ id: 7 }), ping({ id: 1.5 })]],
];

/** Nothing waits for an answer that will not come. */
function nothingLeft({ gateway, listener }: TestGateway): void {
  expect(listener.counts).toEqual({ sessions: 1, streams: 0, requests: 0 });
  expect(gateway.sessions.map(({ busy }) => busy)).toEqual([false]);
}

test.each(REFUSED)('X-3, X-4: %s gets an error and leaves no open request', async (_what, message) => {
  const running = await httpGateway({});
  const client = await rawSession(running.url);
  const answer = await post(running.url, message, client.headers);
  expect(answer.status).toBe(400);
  expect(errorOf(answer).code).toBe(-32600);
  nothingLeft(running);
});

test('X-3, X-4: an unknown key in a message does no harm', async () => {
  const running = await httpGateway({});
  const client = await rawSession(running.url);
  const answer = await post(running.url, ping({ id: 8, foo: 1 }), client.headers);
  expect(answer.json).toMatchObject(answer.status === 200 ? { id: 8, result: {} } : { error: { code: -32600 } });
  nothingLeft(running);
});
