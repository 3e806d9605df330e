import { InMemoryTransport } from '@modelcontextprotocol/client';
import * as sdk from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { describe, expect, test, vi } from 'vitest';
import { scriptedServer, type ScriptedServer } from '../../../tests/support/scripted-server.ts';
import { asServerTransport } from '../../../tests/support/server-transport.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import * as protocol from '../../lib/protocol.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { ConnectionClosed, ErrorResponse, RequestTimeout } from './errors.ts';
import { introduce, ProbeFailed, type IntroductionOptions } from './introduction.ts';
import { listen } from './listening.ts';
import { Peer } from './peer.ts';
import { readResult } from './result.ts';

const OPTIONS: IntroductionOptions = {
  client: { name: 'test', version: '1' },
  capabilities: { elicitation: {}, roots: {} },
  timeoutMs: 1000,
  probeMs: 100,
  knownOld: false,
  isChild: false,
};

type Reply = Parameters<typeof scriptedServer>[1];
type Connected = ScriptedServer & { peer: Peer; clock: TestClock };

async function connected(era: 'legacy' | 'modern', reply?: Reply): Promise<Connected> {
  const server = await scriptedServer(era, reply);
  const clock = new TestClock();
  const peer = new Peer(clock);
  await peer.connect(asServerTransport(server.transport));
  peer.introduction = await introduce(peer, OPTIONS);
  return { ...server, peer, clock };
}

const sentOf = ({ received }: ScriptedServer, method: string): Record<string, unknown>[] =>
  received.filter((message) => 'method' in message && message.method === method);

const never: Reply = () => undefined;

describe('requests', () => {
  test.each(['legacy', 'modern'] as const)('B-1, D-5: results arrive unchanged (%s)', async (era) => {
    const result = { content: [{ type: 'text', text: 'x', 'x-vendor': 1 }], 'x-more': { a: [1] } };
    const { peer } = await connected(era, () => ({ result: { resultType: 'complete', ...result } }));
    expect(await peer.request('tools/call', { name: 'x' })).toEqual(result);
    await peer.close();
  });

  test('D-5: errors arrive unchanged', async () => {
    const data = { elicitations: [{ mode: 'url', 'x-vendor': 1 }] };
    const { peer } = await connected('legacy', () => ({ error: { code: -32042, message: 'no', data } }));
    const error = await peer.request('tools/call', { name: 'x' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ErrorResponse);
    expect(error).toMatchObject({ code: -32042, message: 'no', data });
    await peer.close();
  });

  test('B-1: requests to a modern server have the metadata of the client, and their own _meta takes precedence', async () => {
    const server = await connected('modern');
    await server.peer.request('tools/call', { name: 'x', _meta: { [protocol.LOG_LEVEL_KEY]: 'info' } });
    expect(sentOf(server, 'tools/call')[0]).toMatchObject({
      params: {
        name: 'x',
        _meta: {
          [sdk.PROTOCOL_VERSION_META_KEY]: '2026-07-28',
          [sdk.CLIENT_INFO_META_KEY]: OPTIONS.client,
          [sdk.CLIENT_CAPABILITIES_META_KEY]: OPTIONS.capabilities,
          [sdk.LOG_LEVEL_META_KEY]: 'info',
        },
      },
    });
    await server.peer.close();
  });

  test('T-4: an aborted request is cancelled on the server with its reason', async () => {
    const server = await connected('legacy', never);
    const given = new AbortController();
    const asked = server.peer.request('tools/call', { name: 'x' }, { signal: given.signal });
    given.abort(new Error('not needed'));
    await expect(asked).rejects.toThrow('not needed');
    const [{ id } = {}] = sentOf(server, 'tools/call');
    await expect
      .poll(() => sentOf(server, 'notifications/cancelled'))
      .toMatchObject([{ params: { requestId: id, reason: 'Error: not needed' } }]);
    await server.peer.close();
  });

  test('T-4: a request that was already aborted is not sent', async () => {
    const server = await connected('legacy');
    await expect(
      server.peer.request('tools/call', {}, { signal: AbortSignal.abort(new Error('over')) }),
    ).rejects.toThrow('over');
    expect(sentOf(server, 'tools/call')).toEqual([]);
    await server.peer.close();
  });

  test('B-5: a request without a response ends after its timeout, and never without a timeout', async () => {
    const server = await connected('legacy', never);
    const limited = server.peer.request('tasks/get', {}, { timeoutMs: 5000 });
    const unlimited = server.peer.request('tools/call', {});
    server.clock.advance(5000);
    await expect(limited).rejects.toBeInstanceOf(RequestTimeout);
    await expect.poll(() => sentOf(server, 'notifications/cancelled')).toHaveLength(1);
    server.clock.advance(86_400_000);
    await server.say({ id: sentOf(server, 'tools/call')[0]?.['id'], result: { late: true } });
    expect(await unlimited).toEqual({ late: true });
    await server.peer.close();
  });

  test('B-3: a closed connection reports its end, and then fails every request', async () => {
    const { peer } = await connected('legacy', never);
    const ends: string[] = [];
    peer.onclose = () => ends.push('closed');
    const asked = peer.request('tools/call', {}).catch((error: unknown) => {
      expect(error).toBeInstanceOf(ConnectionClosed);
      ends.push('request');
    });
    await peer.close();
    await asked;
    expect(ends).toEqual(['closed', 'request']);
    await expect(peer.request('ping', undefined)).rejects.toBeInstanceOf(ConnectionClosed);
  });

  test('B-1: a server may return a numeric ID as a string, and unknown IDs are reported', async () => {
    const server = await connected('legacy', never);
    const errors: string[] = [];
    server.peer.onerror = ({ message }) => errors.push(message);
    const asked = server.peer.request('tools/call', {});
    await server.say({ id: 'unknown', result: {} });
    await server.say({ id: String(sentOf(server, 'tools/call')[0]?.['id']), result: { a: 1 } });
    expect(await asked).toEqual({ a: 1 });
    expect(errors).toEqual(['a response to an unknown request: "unknown"']);
    await server.peer.close();
  });

  test('B-5: in a session of an earlier run, requests use IDs that differ from the earlier ones', async () => {
    const server = await connected('legacy');
    server.peer.useFreshIds();
    await server.peer.request('ping', undefined);
    expect(sentOf(server, 'ping')[0]?.['id']).toMatch(/^[\w-]{8}\.\d+$/);
    await server.peer.close();
  });
});

describe('messages of the server', () => {
  test.each(['elicitation/create', 'sampling/createMessage', 'roots/list', 'x/unknown'])(
    'D-5, H-3: the params of the request %s arrive unchanged, and its result is sent unchanged',
    async (method) => {
      const { peer, say, received } = await connected('legacy');
      const params = { message: 'Name?', 'x-vendor': [1], _meta: { a: 1 } };
      const result = { action: 'accept', 'x-vendor': { a: 1 } };
      const handle = vi.fn(async () => result);
      peer.handlers = { ...peer.handlers, request: handle };
      await say({ id: 'q', method, params });
      await expect.poll(() => received.at(-1)).toEqual({ jsonrpc: '2.0', id: 'q', result });
      expect(handle).toHaveBeenCalledWith(expect.objectContaining({ method, params }), 'any', expect.anything());
      await peer.close();
    },
  );

  test('D-5: an error is sent with its code and data, and without a code as an internal error', async () => {
    const { peer, say, received } = await connected('legacy');
    const errors = [new RpcError(INVALID_PARAMS, 'no', { a: 1 }), new Error('oops')];
    peer.handlers = { ...peer.handlers, request: async () => Promise.reject(errors.shift() ?? new Error('no more')) };
    await say({ id: 1, method: 'x/a' });
    await say({ id: 2, method: 'x/b' });
    await expect
      .poll(() => received.slice(-2))
      .toEqual([
        { jsonrpc: '2.0', id: 1, error: { code: INVALID_PARAMS, message: 'no', data: { a: 1 } } },
        { jsonrpc: '2.0', id: 2, error: { code: -32603, message: 'oops' } },
      ]);
    await peer.close();
  });

  test('T-4: a question that the server cancels is withdrawn and gets no response', async () => {
    const { peer, say, received } = await connected('legacy');
    const reasons: unknown[] = [];
    peer.handlers = {
      ...peer.handlers,
      request: async (_request, _stream, withdrawn) =>
        new Promise((resolve) => {
          withdrawn.addEventListener('abort', () => {
            reasons.push(withdrawn.reason);
            resolve({ late: true });
          });
        }),
    };
    await say({ id: 0, method: 'elicitation/create' });
    await say({ method: 'notifications/cancelled', params: { requestId: 0, reason: 'never mind' } });
    await say({ id: 1, method: 'ping' });
    await expect.poll(() => received.at(-1)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(reasons).toEqual(['never mind']);
    expect(received).not.toContainEqual(expect.objectContaining({ id: 0, result: { late: true } }));
    await say({ id: 2, method: 'elicitation/create' });
    await peer.close();
    expect(reasons[1]).toBeInstanceOf(ConnectionClosed);
  });

  test('B-1: requests of a modern server are dropped', async () => {
    const { peer, say, received } = await connected('modern');
    const errors: string[] = [];
    peer.onerror = ({ message }) => errors.push(message);
    const before = received.length;
    await say({ id: 1, method: 'elicitation/create' });
    await expect.poll(() => errors).toHaveLength(1);
    expect(received).toHaveLength(before);
    await peer.close();
  });

  test.each(['notifications/cancelled', 'notifications/subscriptions/acknowledged', 'notifications/message'])(
    'X-3: %s whose handler fails is reported and does not throw into the transport',
    async (method) => {
      const { peer, say } = await connected('legacy');
      const errors: string[] = [];
      peer.onerror = ({ message }) => errors.push(message);
      peer.handlers = {
        ...peer.handlers,
        notification: () => {
          throw new Error('oops');
        },
      };
      await say({ method, params: null });
      expect(errors).toEqual([expect.stringContaining(`${method} was not handled: `)]);
      await peer.close();
    },
  );

  test.each(['notifications/progress', 'notifications/message', 'notifications/tools/list_changed', 'x/unknown'])(
    'D-5, H-3: the notification %s arrives unchanged',
    async (method) => {
      const { peer, say } = await connected('legacy');
      const handle = vi.fn();
      peer.handlers = { ...peer.handlers, notification: handle };
      const params = { progressToken: 'p', progress: 1, level: 'info', data: 1, 'x-vendor': [1] };
      await say({ method, params });
      await expect.poll(() => handle.mock.calls).toEqual([[expect.objectContaining({ method, params }), 'any']]);
      await peer.close();
    },
  );
});

describe('subscriptions/listen streams', () => {
  const META = (id: unknown): Record<string, unknown> => ({ _meta: { [sdk.SUBSCRIPTION_ID_META_KEY]: id } });

  async function listening(): Promise<Connected & { opened: ReturnType<typeof listen>; id: unknown }> {
    const server = await connected('modern', never);
    const filter = { toolsListChanged: true, resourceSubscriptions: ['a', 'b'] };
    const opened = listen(server.peer, filter, server.clock);
    await expect
      .poll(() => sentOf(server, 'subscriptions/listen'))
      .toMatchObject([{ params: { notifications: filter } }]);
    return { ...server, opened, id: sentOf(server, 'subscriptions/listen')[0]?.['id'] };
  }

  async function acknowledged({ say, id }: { say: ScriptedServer['say']; id: unknown }): Promise<void> {
    const params = { ...META(id), notifications: { resourceSubscriptions: ['a'] } };
    await say({ method: 'notifications/subscriptions/acknowledged', params });
  }

  test('R-9: are open when the server acknowledges them, and the client can close them', async () => {
    const server = await listening();
    await acknowledged(server);
    const { uris, close, closed } = await server.opened;
    expect(uris).toEqual(['a']);
    close();
    expect(await closed).toBe('closed');
    await expect
      .poll(() => sentOf(server, 'notifications/cancelled'))
      .toMatchObject([{ params: { requestId: server.id } }]);
    await server.peer.close();
  });

  test.each([
    ['ended', (id: unknown) => ({ id, result: { resultType: 'complete' } })],
    ['lost', (id: unknown) => ({ id, error: { code: -32000, message: 'gone' } })],
    ['lost', (id: unknown) => ({ method: 'notifications/cancelled', params: { requestId: id } })],
  ])('R-9: are reported as %s when the server ends them', async (how, message) => {
    const server = await listening();
    await acknowledged(server);
    const { closed } = await server.opened;
    await server.say(message(server.id));
    expect(await closed).toBe(how);
    await server.peer.close();
  });

  test('R-9: fail if the server refuses them or does not acknowledge them in time', async () => {
    const refused = await listening();
    await refused.say({ id: refused.id, error: { code: -32602, message: 'too many' } });
    await expect(refused.opened).rejects.toThrow('too many');
    await refused.peer.close();
    const silent = await listening();
    silent.clock.advance(60_000);
    await expect(silent.opened).rejects.toBeInstanceOf(RequestTimeout);
    await silent.peer.close();
  });
});

describe('connecting', () => {
  /** A server that answers only as told. */
  async function answering(reply: NonNullable<Reply>, options: Partial<IntroductionOptions> = {}) {
    const [transport, far] = InMemoryTransport.createLinkedPair();
    const asked: string[] = [];
    far.onmessage = (message) => {
      if (!('method' in message)) return;
      asked.push(message.method);
      const answer = 'id' in message ? reply(message) : undefined;
      if (answer && 'id' in message) void far.send({ jsonrpc: '2.0', id: message.id, ...answer } as never);
    };
    await far.start();
    const clock = new TestClock();
    const peer = new Peer(clock);
    await peer.connect(asServerTransport(transport));
    return { peer, asked, clock, far, introduced: introduce(peer, { ...OPTIONS, ...options }) };
  }

  const LEGACY = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
  const UNSUPPORTED = (supported: unknown) => ({ error: { code: -32022, message: 'no', data: { supported } } });

  test.each([
    ['an error', { error: { code: -32601, message: 'Method not found' } }],
    ['another result', { result: { tools: [] } }],
    ['only other versions', { result: { supportedVersions: ['2099-01-01'], capabilities: {} } }],
    ['old versions', UNSUPPORTED(['2025-11-25'])],
  ])('B-1: a server that answers server/discover with %s gets initialize', async (_what, answer) => {
    const { peer, asked, introduced } = await answering(({ method }) =>
      method === 'initialize' ? { result: LEGACY } : answer,
    );
    expect(await introduced).toEqual({ protocolVersion: '2025-06-18', result: LEGACY });
    await expect.poll(() => asked).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
    expect(peer.isModern).toBe(false);
    await peer.close();
  });

  test('B-1: a server that reports support for the version in its error gets server/discover once more', async () => {
    const { peer, asked, introduced } = await answering(() => UNSUPPORTED(['2026-07-28']));
    await expect(introduced).rejects.toMatchObject({ code: -32022 });
    expect(asked).toEqual(['server/discover', 'server/discover']);
    await peer.close();
  });

  test('B-1: a server with only a later version is refused', async () => {
    const { peer, introduced } = await answering(() => UNSUPPORTED(['2099-01-01']));
    await expect(introduced).rejects.toMatchObject({ code: -32022 });
    await peer.close();
  });

  test('B-1: a command that does not answer server/discover gets initialize; another server fails', async () => {
    const reply: Reply = ({ method }) => (method === 'initialize' ? { result: LEGACY } : undefined);
    const child = await answering(reply, { isChild: true });
    child.clock.advance(OPTIONS.probeMs);
    expect(await child.introduced).toMatchObject({ protocolVersion: '2025-06-18' });
    // An early notification could confuse it.
    expect(child.asked).not.toContain('notifications/cancelled');
    await child.peer.close();
    const other = await answering(reply);
    other.clock.advance(OPTIONS.probeMs);
    await expect(other.introduced).rejects.toBeInstanceOf(RequestTimeout);
    await other.peer.close();
  });

  test('B-1: a server that disconnects during server/discover fails with ProbeFailed', async () => {
    const { introduced, far } = await answering(() => undefined, { isChild: true });
    await far.close();
    await expect(introduced).rejects.toBeInstanceOf(ProbeFailed);
  });

  test.each([
    [{ ...LEGACY, protocolVersion: '1999-01-01' }, 'not supported: 1999-01-01'],
    [{ ...LEGACY, serverInfo: {} }, 'lacks its version, capabilities or name'],
    [{}, 'lacks its version, capabilities or name'],
  ])('B-1: an initialize result like %j is refused', async (result, message) => {
    const { peer, introduced } = await answering(() => ({ result }), { knownOld: true });
    await expect(introduced).rejects.toThrow(message);
    await peer.close();
  });

  test('B-1: the server of the SDK accepts initialize, and its result arrives unchanged', async () => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const server = new Server({ name: 'real', version: '2' }, { capabilities: { tools: {} }, instructions: 'do' });
    await server.connect(far);
    const peer = new Peer(new TestClock());
    await peer.connect(asServerTransport(near));
    expect(await introduce(peer, OPTIONS)).toMatchObject({
      protocolVersion: '2025-11-25',
      result: { serverInfo: { name: 'real', version: '2' }, capabilities: { tools: {} }, instructions: 'do' },
    });
    expect(await peer.request('ping', undefined)).toEqual({});
    expect(server.getClientVersion()).toEqual(OPTIONS.client);
    await peer.close();
  });
});

test('B-3: a message of an earlier connection is ignored', async () => {
  const peer = new Peer(new TestClock());
  const notified: string[] = [];
  peer.handlers = { ...peer.handlers, notification: ({ method }) => void notified.push(method) };
  const first = asServerTransport(new InMemoryTransport());
  const second = asServerTransport(new InMemoryTransport());
  await peer.connect(first);
  await peer.connect(second);
  for (const transport of [first, second]) {
    transport.onmessage?.({ jsonrpc: '2.0', method: transport === first ? 'old' : 'new' }, 'any');
  }
  expect(notified).toEqual(['new']);
  await peer.close();
});

describe('results', () => {
  const modern = { isModern: true, mayAsk: true };

  test('B-1: are complete unless resultType says otherwise', () => {
    expect(readResult({ a: 1 }, 'tools/call', modern)).toEqual({ a: 1 });
    expect(readResult({ a: 1, resultType: 'complete' }, 'tools/call', modern)).toEqual({ a: 1 });
    expect(readResult({ a: 1, resultType: 'x' }, 'tools/call', { isModern: false, mayAsk: false })).toEqual({ a: 1 });
  });

  test('B-6: may be a task, or input_required if the request allows it', () => {
    const task = { resultType: 'task', taskId: 't' };
    expect(readResult(task, 'tools/call', { isModern: true, mayAsk: false })).toBe(task);
    for (const result of [
      { resultType: 'input_required', inputRequests: { a: {} } },
      { resultType: 'input_required', requestState: 's' },
    ]) {
      expect(readResult(result, 'tools/call', modern)).toBe(result);
      expect(() => readResult(result, 'tools/list', { isModern: true, mayAsk: false })).toThrow(result.resultType);
    }
  });

  test.each([[{ resultType: 'x' }], [{ resultType: 5 }], [{ resultType: 'input_required' }]])(
    'B-6: like %j are refused',
    (result) => {
      expect(() => readResult(result, 'tools/call', modern)).toThrow('the result of tools/call cannot be used');
    },
  );
});
