import { describe, expect, test } from 'vitest';
import { directSession, LEGACY_CLIENT, startCore } from '../../../tests/support/core.ts';
import { defer } from '../../../tests/support/owned.ts';
import { textResult } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import type { Message, Params, RequestId } from '../message.ts';
import { LegacyView } from './legacy-view.ts';
import { ShownServer } from './shown-server.ts';

const FORM = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};
const ANSWER = { action: 'accept', content: { size: 'M' } };

interface Heard {
  id?: RequestId;
  method?: string;
  params?: Params;
  result?: Params;
  error?: { code: number; message: string; data?: unknown };
  /** The request on whose stream it came; none on the standing one. */
  on?: RequestId;
}

/** The client, and the wire to it. The test says what arrives. */
class Client implements Carrier {
  onmessage: (message: Message) => void = () => {};
  /** Everything that the client was sent, except for replies. */
  readonly heard: Heard[] = [];
  /** Whether replies arrive. */
  takesReplies = true;
  /** Whether the client has a stream that belongs to no request. */
  hasStanding = true;
  readonly exchanges = new Map<RequestId, Exchange>();
  readonly #replies = new Map<RequestId, (reply: Heard) => void>();
  #lastId = 0;

  track(id: RequestId, exchange: Exchange): void {
    this.exchanges.set(id, exchange);
  }

  abandon(id: RequestId): void {
    this.#replies.delete(id);
  }

  reaches(): boolean {
    return this.hasStanding;
  }

  send(message: Message, on?: RequestId): void {
    if ('method' in message) {
      this.heard.push({ ...message, ...(on !== undefined && { on }) });
      return;
    }
    const { id } = message;
    if (id === undefined) return;
    const exchange = this.exchanges.get(id);
    exchange?.settle(this.takesReplies);
    this.#replies.get(id)?.(message);
  }

  request(method: string, params: Params = {}): { id: RequestId; reply: Promise<Heard> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const reply = new Promise<Heard>((resolve) => {
      this.#replies.set(id, resolve);
    });
    this.onmessage({ jsonrpc: '2.0', id, method, params });
    return { id, reply };
  }

  tell(message: Params): void {
    this.onmessage({ jsonrpc: '2.0', ...message } as unknown as Message);
  }

  /** The requests that the client was sent. */
  get asked(): Heard[] {
    return this.heard.filter(({ id, method }) => id !== undefined && method !== 'ping');
  }

  notifications(method: string): Params[] {
    return this.heard.filter((message) => message.method === method).map(({ params }) => params ?? {});
  }
}

async function setUp({ capabilities = LEGACY_CLIENT.capabilities, alone = false } = {}) {
  const core = await startCore({ settings: { direct: { takeOverMs: 60_000 } } });
  const { gateway, backends } = core;
  const session = await directSession(gateway, 'one', { ...LEGACY_CLIENT, capabilities });
  const shown = new ShownServer(session, 'one', await session.connection('one').ready());
  const client = new Client();
  const view = new LegacyView({ gateway, session, shown, carrier: client, alone });
  client.onmessage = (message) => view.peer.receive(message);
  defer(async () => view.close());
  const { reply } = client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'client', version: '1' },
  });
  await reply;
  client.tell({ method: 'notifications/initialized' });
  const call = (more: Params = {}) => client.request('tools/call', { name: 'work', arguments: {}, ...more });
  return { ...core, session, client, view, call, server: backends.last };
}

describe('a plain call', () => {
  test('D-2, D-5: gets the result unchanged, however long it takes', async () => {
    const { call, server, clock, session } = await setUp();
    const { reply } = call();
    await turn();
    clock.advance(20 * 60_000);
    server.last.answer('done');
    expect((await reply).result).toEqual(textResult('done'));
    expect(session.tasks.list()).toEqual([]);
  });

  test('D-5: gets the error of the server with its own code', async () => {
    const { call, server } = await setUp();
    const { reply } = call();
    await turn();
    server.last.end({ kind: 'error', error: { code: 4711, message: 'refused', data: [1] } });
    expect((await reply).error).toEqual({ code: 4711, message: 'refused', data: [1] });
  });

  test.each([{}, { task: {} }])('D-5: gets the full message of a long error, with %j', async (how) => {
    const { call, client, server } = await setUp();
    const { reply } = call(how);
    await turn();
    const message = 'x'.repeat(10_000);
    server.last.end({ kind: 'error', error: { code: 4711, message } });
    const { result, error } = await reply;
    const { taskId } = (result?.['task'] ?? {}) as { taskId?: string };
    const failed = taskId === undefined ? error : (await client.request('tasks/result', { taskId }).reply).error;
    expect(failed).toMatchObject({ code: 4711, message });
  });

  test('D-2, T-7: gets pings while it waits, or progress if the client asks for that', async () => {
    const { call, client, clock, server } = await setUp();
    call();
    const other = call({ _meta: { progressToken: 'p' } });
    await turn();
    clock.advance(10_000);
    await turn();
    expect(client.heard.filter(({ method }) => method === 'ping')).toMatchObject([
      { on: expect.any(Number) as unknown },
    ]);
    expect(client.notifications('notifications/progress')).toMatchObject([{ progressToken: 'p' }]);
    server.last.progress(5, 10);
    await turn();
    expect(client.notifications('notifications/progress')[1]).toMatchObject({ progress: 5, total: 10 });
    expect(client.heard.at(-1)?.on).toBe(other.id);
  });

  test('D-2: sends its question to the client on its own stream', async () => {
    const { call, client, server } = await setUp();
    const { id, reply } = call();
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    expect(client.asked).toMatchObject([{ method: 'elicitation/create', params: FORM, on: id }]);
    client.tell({ id: client.asked[0]?.id, result: ANSWER });
    expect(await answered).toEqual(ANSWER);
    server.last.answer('M it is');
    expect((await reply).result).toEqual(textResult('M it is'));
  });

  test('H-9, X-4: passes an invalid answer to the server as an error', async () => {
    const { call, client, server } = await setUp();
    call();
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    client.tell({ id: client.asked[0]?.id, result: { action: 'accept', content: { size: 5 } } });
    await expect(answered).rejects.toMatchObject({ code: -32602 });
  });

  test('D-5: passes an error of the client to the server with its full message', async () => {
    const { call, client, server } = await setUp();
    call();
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    const error = { code: 4711, message: 'x'.repeat(10_000) };
    client.tell({ id: client.asked[0]?.id, error });
    await expect(answered).rejects.toMatchObject(error);
  });

  test('D-7: keeps a question that the client cannot answer open for others, or refuses it if there are none', async () => {
    const first = await setUp({ capabilities: {} });
    first.call();
    await turn();
    const waiting = first.server.last.ask(FORM);
    await turn();
    expect(first.client.asked).toEqual([]);
    expect(first.session.interactions.size).toBe(1);
    void waiting.catch(() => {});
    const second = await setUp({ capabilities: {}, alone: true });
    second.call();
    await turn();
    await expect(second.server.last.ask(FORM)).rejects.toMatchObject({ code: -32600 });
  });

  test('H-6, T-4: is stopped at the server with the reason of the client when it is cancelled', async () => {
    const { call, client, server } = await setUp();
    const { id } = call();
    await turn();
    client.tell({
      method: 'notifications/cancelled',
      params: { requestId: id, reason: 'the user changed their mind' },
    });
    await turn();
    expect(server.last.stoppedFor).toMatchObject({ message: 'the user changed their mind' });
  });
});

describe('a client whose stream breaks', () => {
  test('T-4, E-5: gets the reply of its call after it has reconnected', async () => {
    const { call, client, server, session } = await setUp();
    const { id, reply } = call();
    await turn();
    client.exchanges.get(id)?.clientLeft({ resumable: true });
    await turn();
    expect(session.tasks.list()).toMatchObject([{ abandoned: true }]);
    client.exchanges.get(id)?.clientReturned();
    server.last.answer('kept');
    expect((await reply).result).toEqual(textResult('kept'));
    expect(session.tasks.list()).toEqual([]);
  });

  test('T-4: takes over its running call by repeating it', async () => {
    const { call, client, server } = await setUp();
    const { id } = call();
    await turn();
    client.exchanges.get(id)?.clientLeft();
    await turn();
    const { reply } = call();
    await turn();
    expect(server.calls).toHaveLength(1);
    server.last.answer('the first run');
    expect((await reply).result).toMatchObject({
      ...textResult('the first run'),
      _meta: { 'meanwhile/takenOver': {} },
    });
  });

  test('T-4: gets a result whose reply was lost by repeating the call', async () => {
    const { call, client, server } = await setUp();
    client.takesReplies = false;
    call();
    await turn();
    server.last.answer('lost');
    await turn();
    client.takesReplies = true;
    const { reply } = call();
    expect((await reply).result).toMatchObject(textResult('lost'));
    expect(server.calls).toHaveLength(1);
  });

  test('D-7, D-2: gets a question on another stream if the stream with the question broke', async () => {
    const { call, client, server, view } = await setUp();
    const { id } = call();
    await turn();
    void server.last.ask(FORM).catch(() => {});
    await turn();
    expect(client.asked).toMatchObject([{ on: id }]);
    client.exchanges.get(id)?.clientLeft();
    view.responder.unreachable([id]);
    await turn();
    expect(client.asked).toHaveLength(2);
    expect(client.asked[1]).not.toHaveProperty('on');
  });

  test('D-7: has five seconds to reopen its standing stream before others get its question', async () => {
    const { client, server, session, view, clock } = await setUp();
    void server.ask(FORM).catch(() => {});
    await turn();
    expect(client.asked).toHaveLength(1);
    client.hasStanding = false;
    view.responder.unreachable('standing');
    clock.advance(4999);
    client.hasStanding = true;
    view.responder.standingAgain();
    clock.advance(5000);
    await turn();
    expect(client.asked).toHaveLength(1);
    client.hasStanding = false;
    view.responder.unreachable('standing');
    clock.advance(5000);
    await turn();
    expect(session.interactions.size).toBe(1);
    client.hasStanding = true;
    view.responder.reachable('standing');
    await turn();
    expect(client.asked).toHaveLength(2);
  });

  test('D-5: has its other requests cancelled at the server if it does not return in time', async () => {
    const { client, backends, clock } = await setUp();
    const signals: (AbortSignal | undefined)[] = [];
    backends.methods['prompts/get'] = (_params, signal) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const [gone, back] = [client.request('prompts/get'), client.request('prompts/get')];
    await turn();
    for (const { id } of [gone, back]) client.exchanges.get(id)?.clientLeft({ resumable: true });
    clock.advance(1000);
    client.exchanges.get(back.id)?.clientReturned();
    clock.advance(4000);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
  });
});

describe('tasks', () => {
  const TASK = { task: { ttl: 60_000 } };

  test('D-3: a call with a task gets the task at once, and its status later', async () => {
    const { call, client, server, session } = await setUp();
    const { result } = await call(TASK).reply;
    const { taskId } = (result?.['task'] ?? {}) as { taskId: string };
    expect(result).toMatchObject({ task: { status: 'working', ttl: 60_000 } });
    await turn();
    server.last.answer('done');
    await turn();
    expect(session.tasks.get(taskId).status).toBe('completed');
    expect(client.notifications('notifications/tasks/status').at(-1)).toMatchObject({ taskId, status: 'completed' });
    expect((await client.request('tasks/get', { taskId }).reply).result).toMatchObject({ status: 'completed' });
  });

  test('D-3: tasks/result waits for the result, and brings the question of the task', async () => {
    const { call, client, server } = await setUp();
    const { result } = await call(TASK).reply;
    const { taskId } = (result?.['task'] ?? {}) as { taskId: string };
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    // Not before: the client asks for the result when it is ready for questions.
    expect(client.asked).toEqual([]);
    expect((await client.request('tasks/get', { taskId }).reply).result).toMatchObject({ status: 'input_required' });
    const waiting = client.request('tasks/result', { taskId });
    await turn();
    expect(client.asked).toMatchObject([
      { on: waiting.id, params: { _meta: { 'io.modelcontextprotocol/related-task': { taskId } } } },
    ]);
    client.tell({ id: client.asked[0]?.id, result: ANSWER });
    await answered;
    server.last.answer('done');
    expect((await waiting.reply).result).toMatchObject({
      ...textResult('done'),
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
  });

  test('D-3, T-5: a result with isError makes the task failed', async () => {
    const { call, client, server } = await setUp();
    const { result } = await call(TASK).reply;
    const { taskId } = (result?.['task'] ?? {}) as { taskId: string };
    await turn();
    server.last.end({ kind: 'result', result: { content: [], isError: true } });
    await turn();
    expect((await client.request('tasks/get', { taskId }).reply).result).toMatchObject({ status: 'failed' });
    expect((await client.request('tasks/result', { taskId }).reply).result).toMatchObject({ isError: true });
  });

  test('D-3: a task can be cancelled once', async () => {
    const { call, client, server } = await setUp();
    const { result } = await call(TASK).reply;
    const { taskId } = (result?.['task'] ?? {}) as { taskId: string };
    await turn();
    expect((await client.request('tasks/cancel', { taskId }).reply).result).toMatchObject({ status: 'cancelled' });
    expect(server.last.stoppedFor).toMatchObject({ message: 'cancelled by the client' });
    expect((await client.request('tasks/cancel', { taskId }).reply).error).toMatchObject({ code: -32602 });
    for (const wrong of ['none', 5, { toString: 0, valueOf: 0 }]) {
      expect((await client.request('tasks/get', { taskId: wrong }).reply).error).toMatchObject({ code: -32602 });
    }
  });

  test.each([[5], [null], [{ ttl: 'long' }], [{ ttl: -1 }]])('X-4: `task: %j` is refused', async (task) => {
    const { call, server } = await setUp();
    expect((await call({ task }).reply).error).toMatchObject({ code: -32602 });
    expect(server.calls).toEqual([]);
  });
});

describe('other messages', () => {
  test('D-5: notifications are passed on in both directions', async () => {
    const { client, server } = await setUp();
    client.tell({ method: 'notifications/vendor', params: { n: 1 } });
    server.say('notifications/vendor', { n: 2 });
    await turn();
    expect(server.told).toContainEqual({ method: 'notifications/vendor', params: { n: 1 } });
    expect(client.notifications('notifications/vendor')).toEqual([{ n: 2 }]);
  });

  test('D-5: subscriptions and log levels apply to the session of the client', async () => {
    const { client, server, session } = await setUp();
    await client.request('resources/subscribe', { uri: 'a:1' }).reply;
    await client.request('logging/setLevel', { level: 'warning' }).reply;
    expect([...server.subscribed]).toEqual(['a:1']);
    expect(session.preferences.logLevel('one')).toBe('warning');
  });

  test('D-3: every listed tool supports tasks', async () => {
    const { client, backends } = await setUp();
    backends.methods['tools/list'] = () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] });
    expect((await client.request('tools/list').reply).result).toMatchObject({
      tools: [{ name: 'work', execution: { taskSupport: 'optional' } }],
    });
  });

  test('D-5: a structured result that is not an object is wrapped as the schema of its tool says', async () => {
    const { client, backends, call, server } = await setUp();
    const outputSchema = { type: 'array', items: {} };
    backends.methods['tools/list'] = () => ({
      tools: [{ name: 'work', inputSchema: { type: 'object' }, outputSchema }],
    });
    await client.request('tools/list').reply;
    const { reply } = call();
    await turn();
    server.last.end({ kind: 'result', result: { content: [], structuredContent: [1] } });
    expect((await reply).result).toMatchObject({ structuredContent: { result: [1] } });
  });
});
