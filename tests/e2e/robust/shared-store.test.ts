import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { defer, owned } from '../../support/owned.ts';
import { openStream, rawSession } from '../../support/raw-http.ts';

const SESSIONS = { idleMs: 1000, checkMs: 100 };

test('P-1: a second gateway on the same store leaves the first one what is its own', async () => {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const settings = { store, sessions: SESSIONS };
  const first = await httpGateway({ one: { url: server.url } }, settings);
  const client = await rawSession(first.url);
  // As long as it is open the session is not idle.
  const stream = await openStream(first.url, { headers: { ...client.headers, accept: 'text/event-stream' } });
  expect(stream.status).toBe(200);
  const other = new Database(store);
  defer(async () => void other.close());
  const rows = (): unknown => ({
    sessions: other.prepare('SELECT id FROM sessions').all(),
    events: other.prepare('SELECT id FROM events WHERE session_id = ?').all(client.id),
  });
  await vi.waitFor(() => expect(rows()).toEqual({ sessions: [{ id: client.id }], events: [expect.anything()] }));
  const before = rows();
  // So long that one which nobody has any more would be forgotten.
  await delay(SESSIONS.idleMs + 5 * SESSIONS.checkMs);

  const second = await httpGateway({}, settings);
  await second.gateway.store.settled();
  expect(rows()).toEqual(before);
  const { events } = await client.reply('list_servers');
  expect(events.map(({ type }) => type)).toContain('server_connected');
});
