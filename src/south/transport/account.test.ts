/** Requests with tokens, over real HTTP; the test plays the account. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { JumpingClock } from '../../../tests/support/jumping-clock.ts';
import { defer, owned } from '../../../tests/support/owned.ts';
import type { AccountTokens, AfterRefusal, AuthChallenge, SignIn } from '../../core/ports/accounts.ts';
import { SignInRequired } from '../../core/sign-in/required.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { accountAt } from '../backends.ts';
import type { ConnectionAccount } from '../../core/sign-in/connection-account.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';
import { HttpRefusal } from './http-refusal.ts';

const SIGN_IN: SignIn = {
  id: 'abc',
  principal: 'local',
  server: 'one',
  issuer: 'https://login.example',
  scopes: [],
  expiresAt: Infinity,
};
const LINK = 'http://gateway/oauth/start/abc';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** A server that answers a request of the right token, and refuses others. */
async function serve(accepts: (token: string | undefined) => boolean, refuse: Handler = refuse401): Promise<Served> {
  const requests: [method: string, authorization: string | undefined][] = [];
  const server = createServer((req, res) => {
    const { authorization } = req.headers;
    requests.push([req.method ?? '', authorization]);
    if (!accepts(authorization?.replace('Bearer ', ''))) {
      refuse(req, res);
      return;
    }
    if (req.method !== 'POST') {
      res.writeHead(req.method === 'GET' ? 200 : 204, { 'content-type': 'text/event-stream' });
      res.write(':\n\n');
      if (req.method !== 'GET') res.end();
      return;
    }
    req.setEncoding('utf8');
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      const { id } = JSON.parse(body) as { id?: number };
      if (id === undefined) res.writeHead(202).end();
      else {
        res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, requests };
}

interface Served {
  url: string;
  requests: [method: string, authorization: string | undefined][];
}

const refuse401: Handler = (_req, res) => {
  res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token", scope="read"' }).end('no');
};

interface Scripted extends ConnectionAccount {
  refusals: [token: string | undefined, AuthChallenge][];
  token: string | undefined;
}

/** `after` says what follows each refusal. */
function account(token: string | undefined, after: (played: Scripted) => AfterRefusal, isSlow = false): Scripted {
  const tokens: AccountTokens = {
    current: () => (isSlow ? Promise.resolve(played.token) : played.token),
    refused: async (refused, challenge) => {
      played.refusals.push([refused, challenge]);
      return after(played);
    },
  };
  const played: Scripted = { tokens, linkTo: async () => LINK, refusals: [], token };
  return played;
}

async function connected(url: string, used: ConnectionAccount, clock: Clock = systemClock): Promise<HttpTransport> {
  const health = { onLost: () => {}, onDoubt: () => {} };
  const transport = new HttpTransport({ url }, health, {
    limit: new MessageLimit(100_000),
    clock,
    account: used,
  });
  await transport.start();
  return owned(transport);
}

const send = async (transport: HttpTransport, id: number, method = 'ping'): Promise<unknown> =>
  transport.send({ jsonrpc: '2.0', id, method }).then(
    () => 'answered',
    (error: unknown) => error,
  );

describe('tokens of requests', () => {
  test('A-33: each request has the current token, even if it changes', async () => {
    const { url, requests } = await serve(() => true);
    const used = account('first', () => ({ then: 'retry' }));
    const transport = await connected(url, used);
    expect(await send(transport, 1)).toBe('answered');
    expect(await send(transport, 2)).toBe('answered');
    used.token = 'second';
    expect(await send(transport, 3)).toBe('answered');
    await transport.send({ jsonrpc: '2.0', method: 'notifications/x' });
    expect(requests.map(([, authorization]) => authorization)).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer second',
      'Bearer second',
    ]);
  });

  test('A-33: the standing stream and the DELETE of a session have the token, too', async () => {
    const { url, requests } = await serve(() => true);
    const transport = await connected(
      url,
      account('t', () => ({ then: 'retry' }), true),
    );
    expect(await send(transport, 1, 'initialize')).toBe('answered');
    transport.openStandingStream();
    await expect.poll(() => requests.at(-1)).toEqual(['GET', 'Bearer t']);
    await transport.terminate();
    expect(requests.at(-1)).toEqual(['DELETE', 'Bearer t']);
  });

  test('A-20: a refused request is sent again with the next token', async () => {
    const { url, requests } = await serve((token) => token === 'new');
    const used = account('old', (played) => {
      played.token = 'new';
      return { then: 'retry' };
    });
    const transport = await connected(url, used);
    expect(await send(transport, 1)).toBe('answered');
    expect(used.refusals).toEqual([['old', { status: 401, error: 'invalid_token', scope: 'read' }]]);
    expect(requests).toHaveLength(2);
  });

  test('A-20, A-32: a server that refuses every token gets a limited number of requests', async () => {
    const { url, requests } = await serve(() => false);
    const transport = await connected(
      url,
      account('t', () => ({ then: 'retry' })),
    );
    const error = await send(transport, 1);
    expect(error).toBeInstanceOf(HttpRefusal);
    expect(error).toMatchObject({ failure: 'auth', status: 401 });
    expect(requests).toHaveLength(3);
  });

  test('A-Q: a request that needs a sign-in fails with the sign-in link and without the token', async () => {
    const { url } = await serve(() => false);
    const transport = await connected(
      url,
      account('secret-token', () => ({ then: 'sign_in', signIn: SIGN_IN })),
    );
    const error = await send(transport, 1);
    expect(error).toBeInstanceOf(SignInRequired);
    expect(error).toMatchObject({ failure: 'sign_in', signIn: { ...SIGN_IN, url: LINK } });
    expect(String(error)).toContain(LINK);
    expect(String(error)).not.toContain('secret-token');
  });

  test('A-20: the error contains the reason why there is no token', async () => {
    const { url } = await serve(() => false);
    const transport = await connected(
      url,
      account(undefined, () => ({ then: 'fail', reason: 'there is no authorization server' })),
    );
    expect(String(await send(transport, 1))).toContain('there is no authorization server');
  });

  test('A-32: a 403 is a refusal of the token only with a challenge', async () => {
    let header: Record<string, string> = {};
    const { url, requests } = await serve(
      (token) => token === 'more',
      (_req, res) => res.writeHead(403, header).end(),
    );
    const used = account('less', (played) => {
      played.token = 'more';
      return { then: 'retry' };
    });
    const transport = await connected(url, used);
    expect(await send(transport, 1)).toMatchObject({ status: 403 });
    expect(requests).toHaveLength(1);
    header = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' };
    expect(await send(transport, 2)).toBe('answered');
    expect(used.refusals).toEqual([['less', { status: 403, error: 'insufficient_scope', scope: 'write' }]]);
  });

  test('A-Q: a refused stream is opened again with the next token', async () => {
    const { url, requests } = await serve((token) => token === 'new');
    const used = account('old', () => ({ then: 'sign_in', signIn: SIGN_IN }));
    const transport = await connected(url, used);
    transport.openStandingStream();
    await expect.poll(() => used.refusals.length).toBe(1);
    used.token = 'new';
    expect(await send(transport, 1)).toBe('answered');
    await expect.poll(() => requests.filter(([method]) => method === 'GET').length).toBe(2);
  });
});

/** A server whose refusals have a body that does not end. */
async function serveEndless(): Promise<Served & { open: () => number }> {
  const sockets = new Set<object>();
  const served = await serve(
    () => false,
    (req, res) => {
      sockets.add(req.socket);
      req.socket.once('close', () => sockets.delete(req.socket));
      res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).write('no');
    },
  );
  return { ...served, open: () => sockets.size };
}

describe('response bodies that are not read', () => {
  test('A-20: a refused request keeps no connection open if handling the refusal fails', async () => {
    const { url, requests, open } = await serveEndless();
    const used = account('t', () => {
      throw new Error('the store is away');
    });
    const transport = await connected(url, used);
    expect(String(await send(transport, 1))).toContain('the store is away');
    expect(requests).toHaveLength(1);
    await expect.poll(open, { timeout: 5000 }).toBe(0);
  });

  test('A-20, A-Q: a refused request keeps no connection open during the sign-in', async () => {
    const { url, open } = await serveEndless();
    const transport = await connected(
      url,
      account('t', () => ({ then: 'sign_in', signIn: SIGN_IN })),
    );
    expect(await send(transport, 1)).toBeInstanceOf(SignInRequired);
    await expect.poll(open, { timeout: 5000 }).toBe(0);
  });

  test('A-20: a refusal with an endless body is reported by its status, and keeps no connection open', async () => {
    const { url, open } = await serveEndless();
    const clock = new JumpingClock();
    const transport = await connected(
      url,
      account('t', () => ({ then: 'fail', reason: 'there is no token' })),
      clock,
    );
    const sent = send(transport, 1);
    await expect.poll(open).toBe(1);
    await expect
      .poll(async () => {
        clock.jump(10_000);
        return Promise.race([sent, Promise.resolve('waits')]);
      })
      .toMatchObject({ failure: 'no_token', status: 401 });
    expect(String(await sent)).toContain('there is no token');
    await expect.poll(open).toBe(0);
  });
});

describe('the end of a session', () => {
  /** A session whose account does not say at once which token to send. */
  async function ending(): Promise<{
    transport: HttpTransport;
    clock: JumpingClock;
    requests: Served['requests'];
    give: (token: string) => void;
  }> {
    const { url, requests } = await serve(() => true);
    const clock = new JumpingClock();
    const used = account('t', () => ({ then: 'retry' }));
    const transport = await connected(url, used, clock);
    expect(await send(transport, 1, 'initialize')).toBe('answered');
    let give = (_token: string): void => {};
    const promise = new Promise<string>((resolve) => {
      give = resolve;
    });
    used.tokens.current = () => promise;
    return { transport, clock, requests, give };
  }
  const methods = (requests: Served['requests']): string[] => requests.map(([method]) => method);

  test('A-33: is not delayed by a slow token', async () => {
    const { transport, clock, requests, give } = await ending();
    const ended = transport.terminate();
    clock.jump(1000);
    await ended;
    give('late');
    await transport.close();
    expect(methods(requests)).toEqual(['POST']);
  });

  test('A-33: sends nothing after the transport was closed', async () => {
    const { transport, requests, give } = await ending();
    const ended = transport.terminate();
    await transport.close();
    give('late');
    await ended;
    expect(methods(requests)).toEqual(['POST']);
  });

  test('A-33: sends DELETE if the token arrives in time', async () => {
    const { transport, requests, give } = await ending();
    const ended = transport.terminate();
    give('soon');
    await ended;
    expect(requests.at(-1)).toEqual(['DELETE', 'Bearer soon']);
  });
});

describe('servers without accounts', () => {
  const accounts = { tokens: () => account('t', () => ({ then: 'retry' })).tokens, linkTo: async () => undefined };
  const at = (config: Record<string, unknown>) =>
    accountAt({ principal: 'local', server: 'one', config: { url: 'https://one.example/', ...config } }, accounts);

  test('A-S: a server with its own authentication or with auth: false has no account', () => {
    expect(at({})).toBeDefined();
    expect(at({ headers: { 'X-Other': 'x' } })).toBeDefined();
    expect(at({ headers: { authorization: 'Bearer mine' } })).toBeUndefined();
    expect(at({ url: 'https://user:secret@one.example/' })).toBeUndefined();
    expect(at({ auth: false })).toBeUndefined();
    expect(accountAt({ principal: 'local', server: 'one', config: { command: 'x' } }, accounts)).toBeUndefined();
    expect(accountAt({ principal: 'local', server: 'one', config: { url: 'https://a/' } }, undefined)).toBeUndefined();
  });
});
