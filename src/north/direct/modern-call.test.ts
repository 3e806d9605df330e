import { describe, expect, test } from 'vitest';
import { startCore } from '../../../tests/support/core.ts';
import { SCRIPTED_INFO, textResult } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import { directView } from '../../core/session/kind.ts';
import { exactNumber, stringifyExact } from '../../lib/exact-json.ts';
import { CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, TASKS_EXTENSION } from '../../lib/protocol.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import type { ClientRequest } from '../client-request.ts';
import { replyWhenStored } from '../commit-gate.ts';
import { Exchange } from '../exchange.ts';
import { handleModernCall } from './modern-call.ts';
import { ModernClientState } from './modern-client-state.ts';
import { relay } from './modern-relay.ts';
import { ModernRequest } from './modern-request.ts';
import { ShownServer } from './shown-server.ts';
import type { Params } from '../message.ts';
import { clientIn } from '../modern-client.ts';

const FORM = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};
const ANSWER = { action: 'accept', content: { size: 'M' } };
const TASK_AFTER_MS = 2000;
/** Longer than questions of one round are waited for. */
const GATHER_MS = 30;
const CAN_ANSWER = { elicitation: {} };
const TAKES_TASKS = { elicitation: {}, extensions: { [TASKS_EXTENSION]: {} } };

interface Sent {
  params?: Params;
  capabilities?: Params;
  program?: string;
  state?: unknown;
  answers?: Params;
  exchange?: Exchange;
}

/** A client without sessions that sees one server, and that server. */
async function setUp(traits = SCRIPTED_INFO.traits) {
  const core = await startCore({ settings: { direct: { takeOverMs: 60_000 } } });
  const { gateway, backends } = core;
  backends.info = { ...SCRIPTED_INFO, traits };
  const session = await gateway.stateOf({ principal: 'local', view: directView('one'), name: 'ide' });
  const info = await session.connection('one').ready();
  const shown = new ShownServer(session, 'one', info);
  const clientState = new ModernClientState(session, shown);
  const parts = { gateway, session, shown, clientState, taskAfterMs: TASK_AFTER_MS };
  const request = ({ capabilities = CAN_ANSWER, program, state, answers, exchange = new Exchange() }: Sent) => {
    const client = clientIn({
      [CLIENT_CAPABILITIES_KEY]: capabilities,
      ...(program !== undefined && { [CLIENT_INFO_KEY]: { name: program, version: '1' } }),
    });
    const received = { exchange, notify: () => {} } as unknown as ClientRequest;
    return new ModernRequest(parts, { server: 'one', info }, { request: received, client, state, answers });
  };
  const send = (sent: Sent = {}): Promise<Params> =>
    replyWhenStored(session, () => handleModernCall(request(sent), sent.params ?? { name: 'work', arguments: {} }));
  const pass = (method: string, sent: Sent = {}): Promise<Params> =>
    replyWhenStored(session, () => relay(request(sent), method, sent.params ?? {}));
  return { ...core, session, send, pass, server: backends.last };
}

describe('a call', () => {
  test('D-5: returns the result unchanged, and creates no task', async () => {
    const { send, server, session } = await setUp();
    const params = { name: 'work', arguments: { n: 1 }, extra: true, _meta: { 'vendor/x': 1 } };
    const reply = send({ params });
    await turn();
    expect(server.last.outgoing).toMatchObject({ tool: 'work', args: { n: 1 }, more: { extra: true } });
    expect(server.last.outgoing).not.toHaveProperty('bare');
    expect(server.last.outgoing.meta).toMatchObject({ 'vendor/x': 1 });
    server.last.answer('done');
    expect(await reply).toEqual(textResult('done'));
    expect(session.tasks.list()).toEqual([]);
  });

  test('D-5: without arguments is sent without arguments', async () => {
    const { send, server } = await setUp();
    const reply = send({ params: { name: 'work' } });
    await turn();
    expect(server.last.outgoing).toMatchObject({ args: {}, bare: true });
    server.last.answer('done');
    await reply;
  });

  test('D-5: returns the error of the server unchanged', async () => {
    const { send, server } = await setUp();
    const reply = send();
    await turn();
    server.last.end({ kind: 'error', error: { code: 4711, message: 'refused', data: [1] } });
    await expect(reply).rejects.toMatchObject({ code: 4711, message: 'refused', data: [1] });
  });

  test('D-2: of a client that does not accept tasks stays open, however long it takes', async () => {
    const { send, server, clock, session } = await setUp();
    const reply = send();
    await turn();
    clock.advance(20 * 60_000);
    server.last.answer('at last');
    expect(await reply).toEqual(textResult('at last'));
    expect(session.tasks.list()).toEqual([]);
  });

  test('D-4: becomes a task after a while if the client accepts tasks', async () => {
    const { send, server, clock, session } = await setUp();
    const reply = send({ capabilities: TAKES_TASKS });
    await turn();
    clock.advance(TASK_AFTER_MS - 1);
    expect(session.tasks.list()).toEqual([]);
    clock.advance(1);
    const task = await reply;
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    expect(session.tasks.get(String(task['taskId'])).exposed).toBe(true);
    server.last.answer('done');
    await turn();
    expect(session.tasks.get(String(task['taskId'])).status).toBe('completed');
  });

  test('D-4: becomes a task at once when the server keeps a task', async () => {
    const { send, server } = await setUp();
    const reply = send({ capabilities: TAKES_TASKS });
    await turn();
    await server.last.keepAsTask();
    expect(await reply).toMatchObject({ resultType: 'task' });
  });

  test('X-3, H-12: fails with an error of the gateway if the server cannot be reached', async () => {
    const { send, backends, server } = await setUp();
    backends.unreachable = 'refused';
    server.lose();
    const reply = send();
    await expect(reply).rejects.toMatchObject({ code: -32000, data: { code: 'TOOL_ERR_SERVER_DISCONNECTED' } });
  });
});

describe('rounds', () => {
  test('D-4: a client without tasks gets the question instead of the result, and continues with the answer', async () => {
    const { send, server, clock, session } = await setUp();
    const first = new Exchange();
    const reply = send({ exchange: first });
    await turn();
    const answered = server.last.ask(FORM, { key: 'size' });
    await turn();
    clock.advance(GATHER_MS);
    const round = await reply;
    expect(round).toMatchObject({
      resultType: 'input_required',
      inputRequests: { size: { method: 'elicitation/create', params: FORM } },
    });
    first.settle(true);
    const second = new Exchange();
    const next = send({ state: round['requestState'], answers: { size: ANSWER }, exchange: second });
    expect(await answered).toEqual(ANSWER);
    server.last.answer('M it is');
    expect(await next).toEqual(textResult('M it is'));
    second.settle(true);
    expect(session.tasks.list()).toEqual([]);
  });

  test('D-4: an answer that arrives before its question is used for it', async () => {
    const { send, server } = await setUp();
    const reply = send({ answers: { size: ANSWER } });
    await turn();
    expect(await server.last.ask(FORM, { key: 'size' })).toEqual(ANSWER);
    server.last.answer('M it is');
    expect(await reply).toEqual(textResult('M it is'));
  });

  test('D-7: a question that the client cannot answer is open for others, and the call waits', async () => {
    const { send, server, session } = await setUp();
    const reply = send({ capabilities: {} });
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    const [question] = session.interactions.of({ callId: server.last.outgoing.id });
    await session.interactions.answer(question?.id ?? '', 'elicitation', ANSWER);
    expect(await answered).toEqual(ANSWER);
    server.last.answer('done');
    expect(await reply).toEqual(textResult('done'));
  });

  test('T-4: a client that leaves between two rounds takes over its call by repeating it', async () => {
    const { send, server, clock, session } = await setUp();
    const first = new Exchange();
    const reply = send({ program: 'ide', exchange: first });
    await turn();
    void server.last.ask(FORM, { key: 'size' }).catch(() => {});
    await turn();
    clock.advance(GATHER_MS);
    await reply;
    first.settle(false);
    expect(session.tasks.list()).toMatchObject([{ abandoned: true }]);
    const again = send({ program: 'ide' });
    await turn();
    clock.advance(GATHER_MS);
    expect(await again).toMatchObject({ resultType: 'input_required', _meta: { 'meanwhile/takenOver': {} } });
    expect(server.calls).toHaveLength(1);
  });

  test.each([
    ['forged', 'x.y', 'requestState is invalid'],
    ['not a string', { toString: 0, valueOf: 0 }, 'requestState is invalid'],
    ['of an ended call', undefined, 'requestState refers to a call that has ended'],
  ])('X-4: a requestState that is %s is refused', async (_what, forged, message) => {
    const { send, server, clock, session } = await setUp();
    const reply = send();
    await turn();
    void server.last.ask(FORM, { key: 'size' }).catch(() => {});
    await turn();
    clock.advance(GATHER_MS);
    const { requestState } = await reply;
    const [task] = session.tasks.list();
    session.calls.cancel(task?.id ?? '', 'over');
    session.tasks.delivered(task?.id ?? '');
    await expect(send({ state: forged ?? requestState })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(message) as unknown,
    });
  });

  test('X-4: a requestState of another tool is refused', async () => {
    const { send, server, clock } = await setUp();
    const reply = send();
    await turn();
    void server.last.ask(FORM, { key: 'size' }).catch(() => {});
    await turn();
    clock.advance(GATHER_MS);
    const { requestState: state } = await reply;
    await expect(send({ params: { name: 'other' }, state })).rejects.toThrow("belongs to a call of the tool 'work'");
  });
});

describe('a call whose client has left', () => {
  test('T-4: is taken over by the same call of the same program, once', async () => {
    const { send, server } = await setUp();
    const exchange = new Exchange();
    const given = send({ program: 'ide', exchange });
    await turn();
    exchange.clientLeft();
    await expect(given).rejects.toThrow('the client disconnected');
    const again = send({ program: 'ide' });
    const foreign = send({ program: 'cli' });
    const different = send({ program: 'ide', params: { name: 'work', arguments: { n: 2 } } });
    await turn();
    expect(server.calls).toHaveLength(3);
    server.calls[0]?.answer('the first run');
    expect(await again).toMatchObject({ ...textResult('the first run'), _meta: { 'meanwhile/takenOver': {} } });
    for (const own of server.open) own.answer('its own run');
    expect(await foreign).toEqual(textResult('its own run'));
    expect(await different).toEqual(textResult('its own run'));
  });

  test('T-4: is taken over even if the repeated call arrives before the gateway notices that the client left', async () => {
    const { send, server, clock } = await setUp();
    const exchange = new Exchange();
    const given = send({ program: 'ide', exchange }).catch((error: Error) => error.message);
    await turn();
    clock.advance(5000);
    const again = send({ program: 'ide' });
    await turn();
    expect(server.calls).toHaveLength(1);
    exchange.clientLeft();
    clock.advance(50);
    await given;
    server.last.answer('the first run');
    expect(await again).toMatchObject(textResult('the first run'));
  });

  test('T-4: runs again if the client asks for that, or if the first run failed', async () => {
    const { send, server } = await setUp();
    const exchange = new Exchange();
    const given = send({ program: 'ide', exchange }).catch(() => {});
    await turn();
    exchange.clientLeft();
    await given;
    server.last.fail('no');
    await turn();
    const again = new Exchange();
    const second = send({ program: 'ide', exchange: again }).catch(() => {});
    await turn();
    expect(server.calls).toHaveLength(2);
    again.clientLeft();
    await second;
    const params = { name: 'work', arguments: {}, _meta: { 'meanwhile/again': true } };
    const third = send({ program: 'ide', params });
    await turn();
    expect(server.calls).toHaveLength(3);
    server.last.answer('a new run');
    expect(await third).toEqual(textResult('a new run'));
  });
});

describe('other requests', () => {
  test('D-5: stay open at the server while their client answers a question', async () => {
    const { pass, server, backends, clock } = await setUp();
    let finish = (_result: Params): void => {};
    backends.methods['prompts/get'] = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const first = pass('prompts/get', { params: { name: 'p' } });
    await turn();
    const { id: callId = '' } = server.requests.at(-1) ?? {};
    const answered = server.ask(FORM, { callId, key: 'size' });
    await turn();
    clock.advance(GATHER_MS);
    const { requestState: state } = await first;
    const next = pass('prompts/get', { params: { name: 'p' }, state, answers: { size: ANSWER } });
    expect(await answered).toEqual(ANSWER);
    finish({ messages: [] });
    expect(await next).toEqual({ messages: [] });
    expect(server.requests.filter(({ method }) => method === 'prompts/get')).toHaveLength(1);
  });

  test.each([
    ['x-1', 'x-1'],
    ['9007199254740993', exactNumber('9007199254740993')],
    ['[object]', { toString: 0, valueOf: 0 }],
  ])('D-3, X-4: a required URL elicitation becomes a question with the key %s', async (key, elicitationId) => {
    const { pass, backends } = await setUp();
    backends.methods['prompts/get'] = () => {
      throw new RpcError(-32042, 'visit', {
        elicitations: [{ elicitationId, url: 'https://a.example/', message: 'm' }],
      });
    };
    const reply = await pass('prompts/get', { capabilities: { elicitation: { url: {} } } });
    expect(JSON.parse(stringifyExact(reply))).toMatchObject({
      resultType: 'input_required',
      inputRequests: { [key]: { method: 'elicitation/create' } },
    });
  });

  test('D-5: pass on rounds of a modern server unchanged', async () => {
    const { pass, backends } = await setUp({ sessions: false, asksInRounds: true, declaredPerRequest: true });
    backends.methods['prompts/get'] = () => ({
      resultType: 'input_required',
      inputRequests: {},
      requestState: 'its own',
    });
    expect(await pass('prompts/get')).toMatchObject({ requestState: 'its own' });
  });
});
