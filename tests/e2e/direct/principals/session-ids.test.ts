import { expect, test } from 'vitest';
import { INITIALIZE, post, send } from '../../../support/raw-http.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { twoPrincipals } from './two.ts';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** How a session id fares at an address, with each method that takes one. */
async function statuses(url: string, id: string, headers: Record<string, string>): Promise<number[]> {
  const named = { ...headers, 'mcp-session-id': id };
  const posted = await post(url, LIST, named);
  const got = await send(url, { method: 'GET', headers: { ...named, accept: 'text/event-stream' } });
  const deleted = await send(url, { method: 'DELETE', headers: named });
  return [posted, got, deleted].map(({ status }) => status);
}

test('X-2, S-1: a session id is valid only at its endpoint and for its principal', async () => {
  const { url, one, ext, ada, ben } = await twoPrincipals();
  const direct = await LegacyWire.open(one, { headers: ada.headers });
  const opened = await post(url, INITIALIZE, ada.headers);
  const hubId = String(opened.headers['mcp-session-id']);
  const NOT_FOUND = [404, 404, 404];
  expect(await statuses(url, direct.sessionId, ada.headers)).toEqual(NOT_FOUND);
  expect(await statuses(ext, direct.sessionId, ada.headers)).toEqual(NOT_FOUND);
  expect(await statuses(one, direct.sessionId, ben.headers)).toEqual(NOT_FOUND);
  expect(await statuses(one, hubId, ada.headers)).toEqual(NOT_FOUND);
  // Both are still there for who they belong to.
  expect(await direct.request('ping')).toEqual({});
  expect((await post(url, LIST, { ...ada.headers, 'mcp-session-id': hubId })).status).toBe(200);
});

test.each([
  'server:one:program=wire:ada',
  'hub:program=test:ada',
  'hub:as=work:ada',
  'principal:ada',
  'connection:stdio',
  'connection:stdio:one',
  '__proto__',
  '',
])('X-2: a guessable name is not a valid session id: %j', async (id) => {
  const { one, url, ada } = await twoPrincipals();
  for (const at of [one, url]) {
    for (const status of await statuses(at, id, ada.headers)) expect([400, 404]).toContain(status);
  }
});
