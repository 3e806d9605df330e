import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { session } from '../../support/records.ts';

test('P-4: damage that shows only when records are read is handled at the same start', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'store.db');
  const store = await openSqliteStore({ path, log: createLog('silent') });
  // Of those that go on, each is read.
  const preferences = { demo: { logLevel: 'info' } };
  for (let index = 0; index < 2000; index += 1) {
    store.put('session', { ...session(`session ${index}`), lastActiveAt: Date.now(), preferences });
  }
  await store.close();
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xff, bytes.length / 2));
  const { url, logs } = await httpGateway({}, { store: path });
  expect(logs.map(({ event }) => event)).toContain('store_damaged');
  expect((await readdir(folder)).some((name) => name.startsWith('store.db.damaged-'))).toBe(true);
  expect((await (await hubOverHttp(url)).call('list_servers')).isError).toBe(false);
});
