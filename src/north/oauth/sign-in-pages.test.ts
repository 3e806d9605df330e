/** The sign-in pages over real HTTP, with scripted accounts. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startCore, type Core } from '../../../tests/support/core.ts';
import { defer } from '../../../tests/support/owned.ts';
import { ScriptedAccounts } from '../../../tests/support/scripted-accounts.ts';
import { clientMetadata } from '../../auth/accounts/client-metadata.ts';
import { GatewayError } from '../../core/errors.ts';
import { Guard } from '../http/guard.ts';
import { LoopbackPages } from './loopback.ts';
import { SignInPages, type SignInPagesParts } from './sign-in-pages.ts';

interface Served {
  base: string;
  accounts: ScriptedAccounts;
  core: Core;
  /** The sign-in page for a principal. */
  link: (principal?: string) => Promise<string>;
}

/** The console of a gateway with several people; a header names the person at the browser. */
const scriptedConsole: Exclude<SignInPagesParts['console'], 'off' | undefined> = {
  visitor: async ({ headers }) => {
    const principal = headers['x-person'];
    return typeof principal === 'string' ? { principal, operator: principal === 'root' } : undefined;
  },
  signInAddress: (path) => `/console#to=${path}`,
};

interface Serving {
  console?: SignInPagesParts['console'];
  metadata?: boolean;
}

async function serve({ console, metadata = false }: Serving = {}): Promise<Served> {
  const accounts = new ScriptedAccounts();
  const core = await startCore({ accounts });
  const { store, log } = core.gateway;
  let base = '';
  const guard = new Guard(
    { host: '127.0.0.1', auth: { tokens: {} }, allowedHosts: [], allowedOrigins: [] },
    () => base,
  );
  const pages = new SignInPages({
    gateway: { store, log },
    accounts,
    guard,
    console,
    base: () => base,
    ...(metadata && { clientMetadata: async (segment?: string) => clientMetadata('https://g.example', segment) }),
  });
  const server = createServer((req, res) => void pages.handle(req, res, (req.url ?? '').split('?')[0] ?? ''));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const link = async (principal = 'local'): Promise<string> =>
    `${base}/oauth/start/${(await accounts.signIn({ principal, server: 'one' })).id}`;
  return { base, accounts, core, link };
}

interface Got {
  status: number;
  text: string;
  headers: Headers;
}

async function open(url: string, init: RequestInit = {}): Promise<Got> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const post = async (url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Got> =>
  open(url, { method: 'POST', body: new URLSearchParams(fields), headers });

/** The first part of a `Set-Cookie` header. */
const cookieOf = ({ headers }: Got): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';

describe('a gateway of a single person', () => {
  test('A-Q: the page shows the server and scopes, and its button leads to the authorization server and back', async () => {
    const { link, base, accounts } = await serve();
    accounts.scopes = ['read', '<b>all</b>'];
    const url = await link();
    const page = await open(url);
    expect(page.status).toBe(200);
    for (const text of ['Sign in to use one', 'login.example', 'read, &lt;b&gt;all&lt;/b&gt;']) {
      expect(page.text).toContain(text);
    }
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.text).not.toContain('<script');
    const begun = await post(url, { action: 'continue' });
    expect(begun.status).toBe(303);
    const location = new URL(begun.headers.get('location') ?? '');
    expect(location.origin).toBe('https://login.example');
    expect(begun.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Lax; Path=\/oauth\/callback/);
    const state = location.searchParams.get('state') ?? '';
    const back = `${base}/oauth/callback?code=c&state=${state}`;
    const done = await open(back, { headers: { cookie: cookieOf(begun) } });
    expect(done).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in') as string });
    expect(accounts.signedIn.has('local one')).toBe(true);
    expect((await open(url)).status).toBe(410);
  });

  test('A-30, A-Q: a callback in another browser does not finish the sign-in', async () => {
    const { link, base, accounts } = await serve();
    const begun = await post(await link(), {});
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
    for (const headers of [{}, { cookie: cookieOf(begun).replace(/=.*/, '=x') }]) {
      const back = await open(`${base}/oauth/callback?code=c&state=${state}`, { headers });
      expect(back).toMatchObject({ status: 403, text: expect.stringContaining('did not begin') as string });
    }
    expect(await open(`${base}/oauth/callback?code=c`)).toMatchObject({ status: 403 });
    expect(accounts.signedIn.size).toBe(0);
  });

  test('A-29, A-30: accounts get the path that the browser came back to', async () => {
    const { link, base, accounts } = await serve();
    const paths: (string | undefined)[] = [];
    accounts.complete = async (_parameters, path) => {
      paths.push(path);
      return Promise.reject(new GatewayError('TOOL_ERR_EXECUTION_FAILED', 'not here'));
    };
    const begun = await post(await link(), {});
    const { search } = new URL(begun.headers.get('location') ?? '');
    for (const path of ['/oauth/callback', '/oauth/callback/of-an-issuer'])
      await open(`${base}${path}${search}`, { headers: { cookie: cookieOf(begun) } });
    expect(paths).toEqual(['/oauth/callback', '/oauth/callback/of-an-issuer']);
    expect((await open(`${base}/oauth/callbacks${search}`)).status).toBe(404);
  });

  test('A-29: a failed callback shows the error as text, and no parameters of the URL', async () => {
    const { link, base, accounts } = await serve();
    const begun = await post(await link(), {});
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
    const headers = { cookie: cookieOf(begun) };
    const back = `${base}/oauth/callback?state=${state}&error=evil&error_description=%3Cscript%3E`;
    accounts.complete = async () =>
      Promise.reject(new GatewayError('TOOL_ERR_EXECUTION_FAILED', 'the answer comes from <somebody> else'));
    const failed = await open(back, { headers });
    expect(failed.status).toBe(400);
    expect(failed.text).toContain('the answer comes from &lt;somebody&gt; else');
    expect(failed.text).not.toContain('evil');
    accounts.complete = async () => Promise.reject(new Error('internal secret'));
    const broken = await open(back, { headers });
    expect(broken.status).toBe(500);
    expect(broken.text).not.toContain('internal secret');
  });

  test('A-36: an authorization URL that is not HTTP is not opened', async () => {
    const { link, accounts } = await serve();
    accounts.authorizationUrl = async () => new URL('javascript:alert(1)');
    const begun = await post(await link(), {});
    expect(begun.status).toBe(502);
    expect(begun.headers.get('location')).toBeNull();
  });

  test('A-Q: forms from other origins, other content types and other methods are refused', async () => {
    const { link, base } = await serve();
    const url = await link();
    expect((await post(url, {}, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await post(url, {}, { origin: 'null' })).status).toBe(403);
    expect((await post(url, {}, { origin: base })).status).toBe(303);
    expect((await open(url, { method: 'DELETE' })).status).toBe(405);
    expect(
      (await open(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(415);
    expect((await open(`${base}/oauth/start/unknown`)).status).toBe(410);
    expect((await open(`${base}/oauth/other`)).status).toBe(404);
    expect((await open(`${base}/oauth/client-metadata.json`)).status).toBe(404);
  });

  test('A-30: a browser that uses another host name is redirected to the host of the callback', async () => {
    const { link, base } = await serve();
    const url = new URL(await link());
    const other = `http://localhost:${url.port}${url.pathname}`;
    const page = await open(other);
    expect(page.status).toBe(307);
    expect(page.headers.get('location')).toBe(`${base}${url.pathname}`);
  });

  test('A-24: the client metadata document is served if there is one', async () => {
    const { base } = await serve({ metadata: true });
    const document = await open(`${base}/oauth/client-metadata.json`);
    expect(document.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(document.text)).toMatchObject({ client_id: 'https://g.example/oauth/client-metadata.json' });
    const segment = 's'.repeat(43);
    expect(JSON.parse((await open(`${base}/oauth/client-metadata/${segment}.json`)).text)).toMatchObject({
      client_id: `https://g.example/oauth/client-metadata/${segment}.json`,
      redirect_uris: [`https://g.example/oauth/callback/${segment}`],
    });
    expect((await open(`${base}/oauth/client-metadata/x.json`)).status).toBe(404);
  });
});

describe('a gateway of several people', () => {
  const as = (person: string): { 'x-person': string } => ({ 'x-person': person });
  const [asAnn, asBob, asRoot] = [as('ann'), as('bob'), as('root')];

  test('A-Q: only the principal itself can begin its sign-in', async () => {
    const { link } = await serve({ console: scriptedConsole });
    const url = await link('ann');
    for (const asked of [await open(url), await post(url, { action: 'continue' })]) {
      expect([asked.status, asked.headers.get('location')]).toEqual([303, `/console#to=${new URL(url).pathname}`]);
    }
    expect(await open(url, { headers: asBob })).toMatchObject({ status: 403 });
    expect((await post(url, { action: 'continue', for: 'ann' }, asBob)).status).toBe(403);
    expect((await open(url, { headers: asAnn })).text).toContain('Continue to login.example');
    const begun = await post(url, { action: 'continue' }, asAnn);
    expect(begun.headers.get('location')).toContain('https://login.example');
  });

  test('A-Q: an operator must confirm to sign in for another principal', async () => {
    const { link } = await serve({ console: scriptedConsole });
    const url = await link('ann');
    expect((await open(url, { headers: asRoot })).text).toContain(
      'Calls of ann will use the account that you sign in with',
    );
    expect((await post(url, { action: 'continue' }, asRoot)).status).toBe(200);
    expect((await post(url, { action: 'continue', for: 'ann' }, asRoot)).status).toBe(303);
  });

  test('A-Q: without a console the page says that it must be turned on', async () => {
    const { link } = await serve({ console: 'off' });
    expect(await open(await link('ann'))).toMatchObject({
      status: 403,
      text: expect.stringContaining('turn the console on') as string,
    });
  });
});

describe('without a listener', () => {
  test('A-Q: a local port is open only while a sign-in is pending', async () => {
    const accounts = new ScriptedAccounts();
    const { gateway } = await startCore({ accounts });
    const loopback = new LoopbackPages({ gateway, accounts, clock: gateway.clock });
    defer(async () => loopback.close());
    accounts.expiresAt = gateway.clock.now() + 60_000;
    const signIn = await accounts.signIn({ principal: 'local', server: 'one' });
    const url = await loopback.linkTo(signIn);
    expect(await loopback.linkTo(signIn)).toBe(url);
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect((await open(url)).status).toBe(200);
    accounts.finish('local', 'one');
    await expect.poll(() => open(url).catch(() => 'closed')).toBe('closed');
    const next = await loopback.linkTo(await accounts.signIn({ principal: 'local', server: 'one' }));
    expect((await open(next)).status).toBe(200);
    (gateway.clock as unknown as { advance: (ms: number) => void }).advance(60_000);
    await expect.poll(() => open(next).catch(() => 'closed')).toBe('closed');
  });
});
