/** A real authorization server. It comes as an npm package, which is installed on first use. */
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { exportJWK, generateKeyPair } from 'jose';
import { alone, installBeside } from '../support/side-package.ts';
import { defer } from '../support/owned.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** As much of its types as the tests use: the package is not there when types are checked. */
interface ProviderModule {
  default: new (issuer: string, settings: object) => { callback(): Parameters<typeof createServer>[1] };
}

export async function provider(): Promise<ProviderModule> {
  const { dependencies } = JSON.parse(await readFile(join(FOLDER, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const name = `.is-${Object.values(dependencies).join('-')}`;
  const isReady = (): boolean => existsSync(join(FOLDER, 'node_modules', name));
  if (!isReady()) {
    await alone('auth', isReady, async () => {
      await installBeside(FOLDER, 'auth', ['--ignore-scripts'], async (modules) => writeFile(join(modules, name), ''));
    });
  }
  const file = join(FOLDER, 'node_modules', 'oidc-provider', 'lib', 'index.js');
  return (await import(pathToFileURL(file).href)) as ProviderModule;
}

/** The same for all: to make one takes a while. */
let key: ReturnType<typeof generateKeyPair> | undefined;

export interface AuthorizationServer {
  issuer: string;
  /** A program that is known there, with its secret. */
  client: { id: string; secret: string };
  /** An access token of the program for a resource. */
  token(resource: string, scope?: string): Promise<string>;
  revoke(token: string): Promise<void>;
}

/** With it, people sign in with forms, and clients register themselves. */
export interface ForPeople {
  /** How long an access token is valid, in seconds. */
  expiresIn?: number;
}

/** `format`: whether the gateway can read its tokens, or has to ask about them. */
export async function startAuthorizationServer(
  format: 'jwt' | 'opaque',
  people?: ForPeople,
): Promise<AuthorizationServer> {
  const { default: Provider } = await provider();
  const server: Server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { id: 'robot', secret: 'the-secret-of-the-robot' };
  key ??= generateKeyPair('RS256', { extractable: true });
  const { privateKey } = await key;
  const scope = 'mcp:use mcp:answer mcp:operate';
  const { callback } = bound(
    new Provider(issuer, {
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          grant_types: ['client_credentials'],
          response_types: [],
          redirect_uris: [],
          scope,
        },
      ],
      scopes: [...scope.split(' '), ...(people ? ['openid', 'offline_access'] : [])],
      ...(people && {
        rotateRefreshToken: () => true,
        issueRefreshToken: () => true,
        ttl: { AccessToken: people.expiresIn ?? 3600, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 600 },
        cookies: { keys: ['a key for tests'] },
        clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
      }),
      features: {
        devInteractions: { enabled: people !== undefined },
        ...(people && { registration: { enabled: true } }),
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        revocation: { enabled: true, allowedPolicy: () => true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_context: unknown, resource: string) => ({
            scope,
            audience: resource,
            accessTokenFormat: format,
            ...(people && { accessTokenTTL: people.expiresIn ?? 3600 }),
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    }),
  );
  server.on('request', callback);
  const form = async (path: string, fields: Record<string, string>): Promise<Response> =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
      body: new URLSearchParams(fields),
    });
  return {
    issuer,
    client,
    token: async (resource, wanted = 'mcp:use') => {
      const response = await form('/token', { grant_type: 'client_credentials', resource, scope: wanted });
      const said = (await response.json()) as { access_token?: string };
      if (said.access_token === undefined) throw new Error(JSON.stringify(said));
      return said.access_token;
    },
    revoke: async (token) => {
      const { status } = await form('/token/revocation', { token });
      if (status !== 200) throw new Error(`revocation: ${status}`);
    },
  };
}

function bound(server: InstanceType<ProviderModule['default']>): {
  callback: NonNullable<Parameters<typeof createServer>[1]>;
} {
  const callback = server.callback();
  if (callback === undefined) throw new Error('no callback');
  return { callback };
}

/** A person with a browser, who signs in and agrees to everything; resolves with what the browser comes back with. */
export async function browse(start: URL, redirectUri: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let steps = 0; steps < 20; steps += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    });
    form = undefined;
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      if (url.href.startsWith(redirectUri)) return url.searchParams;
      continue;
    }
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    if (action === undefined) throw new Error(`status ${response.status}: ${page.slice(0, 500)}`);
    const prompt = page.includes('name="login"')
      ? { prompt: 'login', login: 'ann', password: 'any' }
      : { prompt: 'consent' };
    form = new URLSearchParams(prompt);
    url = new URL(action, url);
  }
  throw new Error('the browser goes in circles');
}
