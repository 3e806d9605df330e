import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { runCommand } from '../../support/command.ts';
import { session } from '../../support/records.ts';

test('P-1, C-3: export prints one JSON document per line, with or without --json, and its help says so', async () => {
  const path = join(await temporaryFolder(), 'store.db');
  const store = await openSqliteStore({ path, log: createLog('silent') });
  for (const id of ['a', 'b']) store.put('session', session(id));
  await store.close();
  const plain = await runCommand(['store', 'export', '--store', path]);
  const lines = plain.stdout.split('\n').map((line) => JSON.parse(line) as unknown);
  expect(lines).toMatchObject([{ record: { id: 'a' } }, { record: { id: 'b' } }]);
  expect(await runCommand(['store', 'export', '--json', '--store', path])).toEqual(plain);
  const { stdout: help } = await runCommand(['store', '--help']);
  expect(help.replaceAll(/\s+/g, ' ')).toContain('export always prints one document per line');
});
