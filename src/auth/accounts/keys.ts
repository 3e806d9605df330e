/** The keys that tokens are encrypted with. */

import { randomBytes } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { codeOf, messageOf, type Log } from '../../lib/log.ts';
import { isPostgresUrl } from '../../lib/postgres-url.ts';
import { parseKey } from '../../lib/encryption-key.ts';
import { AuthFailure } from './failure.ts';
import { KEY_BYTES } from './sealed.ts';

export interface KeySettings {
  /** The keys in the config; the first one encrypts. */
  encryptionKey?: string | readonly string[] | undefined;
  /** A file with one key per line. */
  encryptionKeyFile?: string | undefined;
  /** The store: a file, `:memory:` or a database. */
  store: string;
}

type Keys = [Buffer, ...Buffer[]];

/** Loads the keys of the config, or those in a file beside the store file, which is created on first use. */
export async function loadKeys({ encryptionKey, encryptionKeyFile, store }: KeySettings, log: Log): Promise<Keys> {
  if (encryptionKey !== undefined) return parsed([encryptionKey].flat(), 'auth.encryptionKey');
  if (encryptionKeyFile !== undefined) return parsed(linesOf(await read(encryptionKeyFile)), encryptionKeyFile);
  if (store === ':memory:') return [randomBytes(KEY_BYTES)];
  if (isPostgresUrl(store)) {
    throw new AuthFailure(
      'tokens are always stored encrypted, and there is no key: set meanwhile.auth.encryptionKey to the same value on all gateways ' +
        '(make one with: openssl rand -base64 32)',
    );
  }
  return parsed(linesOf(await fileBeside(store, log)), `${store}.key`);
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new AuthFailure(`the encryption key cannot be read: ${messageOf(error)}`);
  });
}

async function fileBeside(store: string, log: Log): Promise<string> {
  const file = `${store}.key`;
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(`${randomBytes(KEY_BYTES).toString('base64')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    log.info('encryption_key_made', { file });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw new AuthFailure(
        `the encryption key cannot be created beside the store: ${messageOf(error)}; set auth.encryptionKey`,
      );
    const { mode } = await stat(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      log.warn('encryption_key_readable', { file, fix: `others can read the key: chmod 600 ${file}` });
  }
  return read(file);
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

function parsed(texts: readonly string[], from: string): Keys {
  const keys = texts.map((text, index) => {
    const key = parseKey(text);
    if (key === undefined)
      throw new AuthFailure(
        `key ${index + 1} in ${from} is not ${KEY_BYTES} bytes in base64 or hex (make one with: openssl rand -base64 32)`,
      );
    return key;
  });
  const [first, ...others] = keys;
  if (first === undefined) throw new AuthFailure(`there is no key in ${from} (make one with: openssl rand -base64 32)`);
  return [first, ...others];
}
