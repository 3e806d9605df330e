import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import type { Config } from './schema.ts';

const URL = 'https://mcp.example.com/mcp';

async function load(file: object, env: Record<string, string> = {}): Promise<Config & { folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-config-'));
  try {
    await writeFile(join(folder, 'meanwhile.json'), JSON.stringify(file));
    const config = await loadConfig({ flags: { config: 'meanwhile.json' }, env, cwd: folder });
    return { ...config, folder };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const mistakesIn = async (auth: unknown): Promise<string> => {
  try {
    await load({ mcpServers: { files: { url: URL, auth } } });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
};

test('A-S: settings for authorization at a server are optional', async () => {
  const auth = { clientId: 'a', clientSecret: '${SECRET}', scopes: ['read'], issuer: 'https://login.example.com' };
  const entries = { plain: { url: URL }, off: { url: URL, auth: false }, full: { url: URL, auth } };
  const { servers } = await load({ mcpServers: entries }, { SECRET: 's3' });
  expect(Object.fromEntries(servers)).toEqual({
    plain: { url: URL },
    off: { url: URL, auth: false },
    full: { url: URL, auth: { ...auth, clientSecret: 's3', grant: 'authorization_code' } },
  });
});

test('A-S: paths of key files are relative to the config file', async () => {
  const auth = { grant: 'client_credentials', clientId: 'a', privateKeyFile: 'key.pem' };
  const file = { mcpServers: { files: { url: URL, auth } }, meanwhile: { auth: { encryptionKeyFile: 'keys' } } };
  const { servers, settings, folder } = await load(file);
  expect(servers.get('files')).toMatchObject({ auth: { privateKeyFile: join(folder, 'key.pem') } });
  expect(settings.auth.encryptionKeyFile).toBe(join(folder, 'keys'));
});

test('A-S: mistakes in the authorization settings of a server are reported at the start', async () => {
  const wrong: [auth: unknown, message: string][] = [
    [{ clientSecret: 's' }, 'clientId: missing'],
    [{ clientId: 'a', clientSecret: 's', privateKeyFile: 'f' }, 'privateKeyFile: remove it'],
    [{ clientId: 'a', keyId: 'k' }, 'keyId: has no effect'],
    [{ clientId: 'a', algorithm: 'ES256' }, 'algorithm: has no effect'],
    [{ clientId: 'a', privateKeyFile: 'f', algorithm: 'HS256' }, 'algorithm'],
    [{ grant: 'client_credentials', clientId: 'a' }, 'client_credentials needs'],
    [{ grant: 'password' }, 'grant'],
    [{ scopes: ['read write'] }, 'a scope has no spaces'],
    [{ issuer: 'http://login.example.com' }, 'issuer'],
    [{ clientMetadataUrl: 'https://example.com/' }, 'clientMetadataUrl'],
    [{ clientID: 'a' }, 'clientID'],
    [true, 'auth'],
  ];
  for (const [auth, message] of wrong) expect(await mistakesIn(auth), JSON.stringify(auth)).toContain(message);
  expect(await mistakesIn({})).toBe('');
});

test('A-12: an encryption key has 32 bytes, and the report of an invalid key does not show the key', async () => {
  const key = Buffer.alloc(32, 7);
  for (const text of [key.toString('base64'), key.toString('hex'), key.toString('base64url')])
    expect(
      (await load({ meanwhile: { auth: { encryptionKey: [text, text] } } })).settings.auth.encryptionKey,
    ).toHaveLength(2);
  for (const encryptionKey of ['too-short-a-key', [], Buffer.alloc(31).toString('base64')]) {
    const failure = await load({ meanwhile: { auth: { encryptionKey } } }).catch(String);
    expect(failure).toContain('encryptionKey');
    expect(failure).not.toContain('too-short');
  }
  const both = { encryptionKey: key.toString('hex'), encryptionKeyFile: 'keys' };
  expect(await load({ meanwhile: { auth: both } }).catch(String)).toContain('encryptionKeyFile: remove it');
});
