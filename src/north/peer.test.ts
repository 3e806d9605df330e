import { Client, InMemoryTransport, type StandardSchemaV1 } from '@modelcontextprotocol/client';
import { describe, expect, test, vi } from 'vitest';
import { owned } from '../../tests/support/owned.ts';
import { TestClock } from '../../tests/support/test-clock.ts';
import { GatewayError } from '../core/errors.ts';
import { RpcError } from '../lib/rpc-error.ts';
import type { Carrier } from './carrier.ts';
import type { ClientRequest } from './client-request.ts';
import { messageText } from './kept-results.ts';
import type { Message, Params } from './message.ts';
import { ClientPeer } from './peer.ts';

const ANY: StandardSchemaV1<unknown, Params> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Params }) },
};

/** The SDK's client, connected to a peer that handles requests as the test says. */
async function connected(handle: (request: ClientRequest) => Promise<Params> = async () => ({})) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const sent: Message[] = [];
  const abandoned: unknown[] = [];
  const unwritable = new Set<unknown>();
  const carrier: Carrier = {
    track: () => {},
    abandon: (id) => abandoned.push(id),
    send: (reply) => {
      const message = 'resultJson' in reply ? (JSON.parse(messageText(reply)) as Message) : reply;
      if ('result' in message && unwritable.has(message.result)) throw new RangeError('too deep');
      if ('method' in message && unwritable.has(message.params)) throw new RangeError('too deep');
      sent.push(message);
      void far.send(message);
    },
    reaches: () => true,
  };
  const clock = new TestClock();
  const heard: unknown[] = [];
  const mistakes: string[] = [];
  const endpoint = {
    introduce: (protocolVersion: string) => ({
      protocolVersion,
      capabilities: {},
      serverInfo: { name: 'a', version: '1' },
    }),
    handle,
    onNotification: (method: string, params: Params | undefined) => {
      if (method === 'x/fail') throw new Error('no');
      heard.push([method, params]);
    },
  };
  const peer = new ClientPeer(carrier, endpoint, {
    onCancel: 'auto',
    clock,
    onMistake: (mistake) => mistakes.push(mistake),
  });
  far.onmessage = (message) => peer.receive(message as Message);
  await far.start();
  const client = owned(new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } }));
  await client.connect(near);
  return { client, peer, sent, abandoned, heard, mistakes, clock, unwritable };
}

describe('requests of the client', () => {
  test('D-5: get results and errors unchanged', async () => {
    const { client } = await connected(async ({ method, params }) => {
      if (method === 'x/fail') throw new RpcError(-32002, 'refused', [1]);
      return { 'x-vendor': params };
    });
    expect(await client.request({ method: 'x/a', params: { b: [1] } }, ANY)).toEqual({ 'x-vendor': { b: [1] } });
    await expect(client.request({ method: 'x/fail' }, ANY)).rejects.toMatchObject({ message: 'refused', data: [1] });
    expect(await client.ping()).toEqual({});
  });

  test('D-5, X-3: get large results unchanged, and other requests are answered meanwhile', async () => {
    const large = { content: [{ type: 'text', text: 'a "line" 🎉\n'.repeat(300_000) }], rows: [1, null, { a: 'b' }] };
    const { client, sent } = await connected(async ({ method }) => (method === 'x/large' ? large : {}));
    const asked = client.request({ method: 'x/large' }, ANY);
    await client.request({ method: 'x/small' }, ANY);
    expect(sent.at(-1)).toMatchObject({ result: {} });
    expect(await asked).toEqual(large);
  });

  test('H-12: get errors of the gateway with their codes', async () => {
    const { client } = await connected(async () => {
      throw new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', 'not there', { server: 'a' });
    });
    await expect(client.request({ method: 'x/a' }, ANY)).rejects.toMatchObject({
      code: -32000,
      message: 'not there',
      data: { code: 'TOOL_ERR_SERVER_UNREACHABLE', server: 'a' },
    });
  });

  test('T-4: can be cancelled with a reason, and then get no reply', async () => {
    const requests: ClientRequest[] = [];
    const { client, sent, abandoned } = await connected(async (request) => {
      requests.push(request);
      return new Promise<Params>((resolve) => {
        request.exchange.onLeaving(() => resolve({}));
      });
    });
    const cancel = new AbortController();
    const asked = client.request({ method: 'x/a' }, ANY, { signal: cancel.signal });
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    const before = sent.length;
    cancel.abort('enough');
    await expect(asked).rejects.toThrow('enough');
    await vi.waitFor(() => expect(requests[0]?.exchange.cancelled).toBe(true));
    expect(requests[0]?.exchange.withdrawnSignal()).toMatchObject({ aborted: true, reason: 'enough' });
    expect(abandoned).toEqual([requests[0]?.id]);
    await client.ping();
    expect(sent).toHaveLength(before + 1);
  });

  test('T-4, X-4: can be cancelled with a reason that is not a string', async () => {
    const requests: ClientRequest[] = [];
    const { client, peer, abandoned, mistakes } = await connected(async (request) => {
      requests.push(request);
      return new Promise<Params>(() => {});
    });
    void client.request({ method: 'x/a' }, ANY).catch(() => {});
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    const params = { requestId: requests[0]?.id, reason: { toString: 0, valueOf: 0 } };
    peer.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect(requests[0]?.exchange.cancelled).toBe(true);
    expect(abandoned).toEqual([requests[0]?.id]);
    expect(mistakes).toEqual([]);
  });

  test('T-4: are abandoned even if a cancellation listener throws', async () => {
    const requests: ClientRequest[] = [];
    const { client, peer, abandoned, mistakes } = await connected(async (request) => {
      requests.push(request);
      request.exchange.onLeaving(() => {
        throw new Error('no');
      });
      return new Promise<Params>(() => {});
    });
    void client.request({ method: 'x/a' }, ANY).catch(() => {});
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    peer.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: requests[0]?.id } });
    expect(abandoned).toEqual([requests[0]?.id]);
    expect(mistakes).toEqual(['notifications/cancelled was not handled: no']);
  });

  test('T-7: report progress with the token of the client', async () => {
    const { client } = await connected(async ({ exchange }) => {
      exchange.progress?.({ progress: 1, total: 2, 'x-vendor': 3 });
      return {};
    });
    const onprogress = vi.fn();
    await client.request({ method: 'x/a' }, ANY, { onprogress });
    expect(onprogress).toHaveBeenCalledWith(expect.objectContaining({ progress: 1, total: 2 }));
  });

  test('X-4: get an error if their result cannot be serialized', async () => {
    const result = { a: 1 };
    const { client, unwritable } = await connected(async () => result);
    unwritable.add(result);
    await expect(client.request({ method: 'x/a' }, ANY)).rejects.toMatchObject({ code: -32603 });
  });

  test('H-1, X-4: a second `initialize` is answered, and an invalid one is refused', async () => {
    const { client } = await connected();
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    expect(await client.request({ method: 'initialize', params }, ANY)).toMatchObject({
      protocolVersion: '2024-11-05',
    });
    const unknown = { ...params, protocolVersion: '1999-01-01' };
    expect(await client.request({ method: 'initialize', params: unknown }, ANY)).toMatchObject({
      protocolVersion: '2025-11-25',
    });
    const wrong = { ...params, capabilities: 5 as unknown as object };
    await expect(client.request({ method: 'initialize', params: wrong }, ANY)).rejects.toMatchObject({ code: -32602 });
  });

  test('D-5: notifications of the client are passed on, except for those of the connection', async () => {
    const { client, heard } = await connected();
    await client.notification({ method: 'x/a', params: { b: 1 } });
    await vi.waitFor(() => expect(heard).toEqual([['x/a', { b: 1 }]]));
  });

  test('X-4: a notification whose handler fails is reported, and the next one is handled', async () => {
    const { peer, heard, mistakes } = await connected();
    peer.receive({ jsonrpc: '2.0', method: 'x/fail' });
    peer.receive({ jsonrpc: '2.0', method: 'x/a' });
    expect(heard).toEqual([['x/a', undefined]]);
    expect(mistakes).toEqual(['x/fail was not handled: no']);
  });
});

describe('requests to the client', () => {
  test('H-9: get the result or the error of the client', async () => {
    const { client, peer } = await connected();
    client.fallbackRequestHandler = async ({ params }) => {
      if (params?.['fail']) throw Object.assign(new Error('no'), { code: 4711, data: { a: 1 } });
      return { action: 'accept', 'x-vendor': 1 };
    };
    expect(await peer.request('elicitation/create', { message: 'x' }, {})).toEqual({ action: 'accept', 'x-vendor': 1 });
    await expect(peer.request('elicitation/create', { fail: true }, {})).rejects.toMatchObject({ code: 4711 });
  });

  test('B-5: have IDs that differ from those of earlier runs', async () => {
    const { peer, sent } = await connected();
    await peer.request('ping', undefined, {});
    await peer.request('ping', undefined, {});
    const ids = sent.flatMap((message) => ('method' in message && 'id' in message ? [message.id] : []));
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[\w-]{8}\.\d+$/);
  });

  test('H-9: are cancelled at the client when they are aborted or time out', async () => {
    const { client, peer, clock } = await connected();
    const reasons: unknown[] = [];
    client.fallbackRequestHandler = async (_request, { mcpReq: { signal } }) =>
      new Promise<Params>((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          resolve({});
        });
      });
    const cancel = new AbortController();
    const first = peer.request('elicitation/create', {}, { signal: cancel.signal });
    const second = peer.request('elicitation/create', {}, { timeoutMs: 1000 });
    await client.ping();
    cancel.abort('answered elsewhere');
    await expect(first).rejects.toThrow('answered elsewhere');
    clock.advance(1000);
    await expect(second).rejects.toThrow('Request timed out');
    await vi.waitFor(() => expect(reasons).toEqual(['answered elsewhere', 'Request timed out']));
  });

  test('D-5: get the full message of a long error', async () => {
    const { client, peer } = await connected();
    const message = 'x'.repeat(10_000);
    client.fallbackRequestHandler = async () => {
      throw Object.assign(new Error(message), { code: 4711 });
    };
    await expect(peer.request('elicitation/create', {}, {})).rejects.toMatchObject({ code: 4711, message });
  });

  test('X-4: that cannot be serialized fail and leave no timer', async () => {
    const { peer, sent, clock, unwritable } = await connected();
    const params = { a: 1 };
    unwritable.add(params);
    const cancel = new AbortController();
    const before = sent.length;
    const asked = peer.request('elicitation/create', params, { signal: cancel.signal, timeoutMs: 1000 });
    await expect(asked).rejects.toThrow('too deep');
    expect(clock.armed).toBe(0);
    cancel.abort('not needed');
    expect(sent).toHaveLength(before);
  });

  test('H-9: that are answered are not cancelled later', async () => {
    const { client, peer, sent, clock } = await connected();
    client.fallbackRequestHandler = async () => new Promise<Params>(() => {});
    const cancel = new AbortController();
    const asked = peer.request('elicitation/create', {}, { signal: cancel.signal, timeoutMs: 1000 });
    const question = sent.at(-1);
    const id = question !== undefined && 'id' in question ? question.id : undefined;
    peer.receive({ jsonrpc: '2.0', id: id ?? '', result: {} });
    cancel.abort('too late');
    clock.advance(1000);
    expect(await asked).toEqual({});
    expect(sent.at(-1)).toBe(question);
  });

  test('H-9: fail when the connection closes', async () => {
    const { peer, client } = await connected();
    client.fallbackRequestHandler = async () => new Promise<Params>(() => {});
    const asked = peer.request('elicitation/create', {}, {});
    peer.close();
    await expect(asked).rejects.toThrow('Connection closed');
    await expect(peer.request('ping', undefined, {})).rejects.toThrow('Connection closed');
  });

  test('X-4: a response to an unknown request is reported', async () => {
    const { peer, mistakes } = await connected();
    peer.receive({ jsonrpc: '2.0', id: 'unknown', result: {} });
    expect(mistakes).toEqual(['response to an unknown request: "unknown"']);
  });
});
