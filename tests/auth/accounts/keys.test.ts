import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadKeys } from '../../../src/auth/accounts/keys.ts';
import { createSealer } from '../../../src/auth/accounts/sealed.ts';
import { createLog } from '../../../src/lib/log.ts';
import { defer } from '../../support/owned.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { handmadeServer } from './handmade-server.ts';
import { at, KEY, signedIn, signInOf, testAccounts, UNAUTHORIZED } from './signing-in.ts';

const silent = createLog('silent');

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'meanwhile-keys-'));
  defer(async () => rm(path, { recursive: true }));
  return path;
}

test('A-12: a sealed text opens only unchanged, with its key and for its place', () => {
  const [one, two] = [randomBytes(32), randomBytes(32)];
  const sealed = createSealer([one]).seal('text with ünicode', 'tokens/a');
  expect(sealed).not.toContain('text');
  expect(createSealer([two, one]).open(sealed, 'tokens/a')).toBe('text with ünicode');
  expect(createSealer([one]).open(sealed, 'tokens/b')).toBeUndefined();
  expect(createSealer([two]).open(sealed, 'tokens/a')).toBeUndefined();
  const [format, id, content = ''] = sealed.split('.');
  const changed = Buffer.from(content, 'base64');
  changed.writeUInt8(changed.readUInt8(20) ^ 1, 20);
  for (const wrong of [
    `${format}.${id}.${changed.toString('base64')}`,
    `2.${id}.${content}`,
    `${format}.${id}.`,
    'x',
    '',
  ])
    expect(createSealer([one]).open(wrong, 'tokens/a')).toBeUndefined();
  // The same text is never sealed in the same way.
  expect(createSealer([one]).seal('text with ünicode', 'tokens/a')).not.toBe(sealed);
});

test('A-12: keys can be rotated: the first key encrypts, all keys decrypt, and a refresh encrypts with the first', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [oldKey, newKey] = [KEY, randomBytes(32).toString('base64')];
  const account = at(server.url);
  const token = await signedIn(testAccounts(database).accounts, account);
  const both = testAccounts(database, { keys: { encryptionKey: [newKey, oldKey], store: ':memory:' } });
  expect(await both.accounts.tokens(account).current()).toBe(token);
  both.clock.jump(60_000);
  expect(await both.accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  const renewed = await both.accounts.tokens(account).current();
  const onlyNew = testAccounts(database, { keys: { encryptionKey: newKey, store: ':memory:' } });
  expect(await onlyNew.accounts.tokens(account).current()).toBe(renewed);
});

test('A-12: a record that no key decrypts counts as absent, is reported once, and is overwritten', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const account = at(server.url);
  await signedIn(testAccounts(database).accounts, account);
  const other = testAccounts(database, { keys: { encryptionKey: randomBytes(32).toString('hex'), store: ':memory:' } });
  expect(await other.accounts.tokens(account).current()).toBeUndefined();
  expect(await other.accounts.list()).toEqual([]);
  signInOf(await other.accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  const reports = other.logs.filter((line) => line.includes('account_unreadable') && line.includes('"tokens"'));
  expect(reports).toHaveLength(1);
  expect(server.valid).toContain(await signedIn(other.accounts, account));
});

test('A-12: without a key in the config, a key file that only its owner can read is created beside the store', async () => {
  const store = join(await folder(), 'meanwhile.db');
  const [key] = await loadKeys({ store }, silent);
  expect(key).toHaveLength(32);
  expect((await stat(`${store}.key`)).mode & 0o777).toBe(0o600);
  expect(await loadKeys({ store }, silent)).toEqual([key]);
  expect(await readFile(`${store}.key`, 'utf8')).toBe(`${key.toString('base64')}\n`);
  await chmod(`${store}.key`, 0o644);
  const logs: string[] = [];
  await loadKeys(
    { store },
    createLog('warn', (line) => logs.push(line)),
  );
  expect(logs.join('')).toContain('chmod 600');
});

test('A-12: keys can come from a file with one key per line, and errors do not show keys', async () => {
  const file = join(await folder(), 'keys');
  const keys = [randomBytes(32), randomBytes(32)];
  await writeFile(file, `# newest first\n${keys[0]?.toString('base64')}\n\n${keys[1]?.toString('hex')}\n`);
  expect(await loadKeys({ encryptionKeyFile: file, store: 'postgres://host/db' }, silent)).toEqual(keys);
  await writeFile(file, 'not a key');
  const failure = await loadKeys({ encryptionKeyFile: file, store: ':memory:' }, silent).catch(String);
  expect(failure).toContain('openssl rand -base64 32');
  expect(failure).not.toContain('not a key');
  await writeFile(file, '# none\n');
  await expect(loadKeys({ encryptionKeyFile: file, store: ':memory:' }, silent)).rejects.toThrow('there is no key');
  await expect(loadKeys({ encryptionKeyFile: `${file}x`, store: ':memory:' }, silent)).rejects.toThrow('ENOENT');
});

test('A-12: on PostgreSQL sign-ins are refused without a key in the config, before a client is registered', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts(undefined, { keys: { store: 'postgres://host/db' } });
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await accounts.tokens(at(server.url)).refused(undefined, UNAUTHORIZED)).toEqual({
      then: 'fail',
      reason: expect.stringContaining('meanwhile.auth.encryptionKey'),
    });
  }
  expect(server.asked).toEqual([]);
});
