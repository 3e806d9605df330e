import { join } from 'node:path';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder, type TestGateway } from '../../support/gateway.ts';
import { defer, owned } from '../../support/owned.ts';
import { INITIALIZE, post, rawSession, type RawSession } from '../../support/raw-http.ts';

interface Setup {
  running: TestGateway;
  client: RawSession;
  /** The store as another program sees it. */
  other: Database.Database;
}

async function setup(): Promise<Setup> {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const running = await httpGateway({ one: { url: server.url } }, { store });
  const client = await rawSession(running.url);
  await client.reply('list_tools');
  const other = new Database(store);
  defer(async () => void other.close());
  return { running, client, other };
}

test('H-4, P-3: a fast call returns its result while the store fails, and its events arrive later', async () => {
  const { client, other } = await setup();
  other.exec('ALTER TABLE events RENAME TO elsewhere');
  const notify = await client.reply('execute_tool', { server: 'one', tool: 'notify', args: { count: 1 } });
  expect(notify.text).toBe('sent 1');
  expect(notify.events).toEqual([]);
  const echo = await client.reply('execute_tool', { server: 'one', tool: 'echo', args: { text: 'precious' } });
  expect(echo.text).toBe('precious');
  expect(echo.isError).toBe(false);

  other.exec('ALTER TABLE elsewhere RENAME TO events');
  await vi.waitFor(
    async () => {
      const { events } = await client.reply('list_servers');
      expect(events.map(({ type }) => type)).toContain('notification');
    },
    { timeout: 10_000 },
  );
});

test('X-3: an initialize that fails because of the store leaves no session', async () => {
  const { running, client, other } = await setup();
  other.exec('ALTER TABLE sessions RENAME TO elsewhere');
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const refused = await post(running.url, INITIALIZE);
    expect(refused.status).toBe(503);
    expect(refused.headers['mcp-session-id']).toBeUndefined();
  }
  await vi.waitFor(() => expect(running.gateway.sessions.map(({ id }) => id)).toEqual([client.id]), 10_000);
  expect(running.listener.counts.sessions).toBe(1);

  other.exec('ALTER TABLE elsewhere RENAME TO sessions');
  const late = await vi.waitFor(() => rawSession(running.url), { timeout: 10_000 });
  const rows = other.prepare('SELECT id FROM sessions').all() as { id: string }[];
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set([client.id, late.id]));
});
