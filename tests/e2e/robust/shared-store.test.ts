import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { defer, owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';

const IDLE_MS = 200;

test('P-1: a second gateway on the same store leaves the first one what is its own', async () => {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  // Old enough to be forgotten, but for that somebody still has it.
  const settings = { store, sessions: { idleMs: IDLE_MS, checkMs: 600_000 } };
  const first = await httpGateway({ one: { url: server.url } }, settings);
  const client = await rawSession(first.url);
  const other = new Database(store);
  defer(async () => void other.close());
  const rows = (): unknown => ({
    sessions: other.prepare('SELECT id FROM sessions').all(),
    events: other.prepare('SELECT id FROM events WHERE session_id = ?').all(client.id),
  });
  await vi.waitFor(() => expect(rows()).toEqual({ sessions: [{ id: client.id }], events: [expect.anything()] }));
  const before = rows();
  await delay(2 * IDLE_MS);

  const second = await httpGateway({}, settings);
  await second.gateway.store.settled();
  expect(rows()).toEqual(before);
  const { events } = await client.reply('list_servers');
  expect(events.map(({ type }) => type)).toContain('server_connected');
});
