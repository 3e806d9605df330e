import { describe, expect, test } from 'vitest';
import { hubSession, startCore } from '../../../tests/support/core.ts';
import { textResult } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import { isObject } from '../../lib/values.ts';
import { replyWhenStored } from '../commit-gate.ts';
import { Exchange } from '../exchange.ts';
import type { ClientPeer } from '../peer.ts';
import { readState } from '../mrtr/request-state.ts';
import { Hub } from './hub.ts';
import { loadTools } from './load-tools.ts';
import type { Asking, AskingByRound } from './tool.ts';

const FORM = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};
const ANSWER = { action: 'accept', content: { size: 'M' } };
/** Longer than questions of one round are waited for. */
const GATHER_MS = 30;

/** A client that takes requests, but declared no kind of question. */
const UNASKED: Asking = { by: 'request', capabilities: {}, peer: {} as ClientPeer, on: 1 };

interface Reply {
  /** The parts of the reply that are JSON, as one object. */
  said: Record<string, unknown>;
  result: Record<string, unknown>;
}

/** A client of the hub, and the server behind it. */
async function setUp(settings: Record<string, unknown> = {}) {
  const core = await startCore({ settings });
  const { gateway, backends } = core;
  const session = await hubSession(gateway);
  const hub = new Hub(gateway);
  await loadTools();
  const call = async (
    name: string,
    args: Record<string, unknown>,
    { exchange = new Exchange(), asking = UNASKED }: { exchange?: Exchange; asking?: Asking } = {},
  ): Promise<Reply> => {
    const caller = { session, exchange, mayRunCommands: false, asking };
    const handle = async () => hub.handle('tools/call', { name, arguments: args }, caller);
    const result = await replyWhenStored(session, handle);
    return { result, said: jsonIn(result) };
  };
  /** The same, and the reply arrives. */
  const tell = async (name: string, args: Record<string, unknown> = {}): Promise<Reply> => {
    const exchange = new Exchange();
    const reply = await call(name, args, { exchange });
    exchange.settle(true);
    return reply;
  };
  const execute = (args: Record<string, unknown> = {}, how: Parameters<typeof call>[2] = {}): Promise<Reply> =>
    call('execute_tool', { server: 'one', tool: 'work', ...args }, how);
  /** A call that has become a task; tells the id of the task. */
  const promoted = async (): Promise<string> => {
    const started = execute({ timeout_ms: 1 });
    await turn();
    core.clock.advance(1);
    await started;
    const [task] = session.tasks.list();
    if (task === undefined) throw new Error('no task');
    return task.id;
  };
  await session.connection('one').ready();
  session.events.take().settle(true);
  return { ...core, session, hub, call, tell, execute, promoted, server: backends.last };
}

function jsonIn({ content }: Record<string, unknown>): Record<string, unknown> {
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [];
  const parsed = blocks.map(({ text = '' }): unknown => (text.startsWith('{') ? JSON.parse(text) : {}));
  return Object.assign({}, ...parsed.filter(isObject)) as Record<string, unknown>;
}

const eventsIn = ({ said }: Reply): unknown[] =>
  ((said['events_since_last_response'] ?? []) as { type: string }[]).map(({ type }) => type);

describe('execute_tool', () => {
  test('H-3, H-4: returns the result of the server unchanged, and stores nothing', async () => {
    const { execute, server, session, database } = await setUp();
    const reply = execute();
    await turn();
    const result = { content: [{ type: 'text', text: 'done', x: 1 }], structuredContent: { n: 1 }, _meta: { a: 1 } };
    server.last.end({ kind: 'result', result });
    expect((await reply).result).toEqual(result);
    expect(session.tasks.list()).toEqual([]);
    expect(database.rowsOf(session.id)).toMatchObject({ task: new Map(), event: new Map() });
  });

  test('H-3: returns a task after the timeout, together with other running tasks', async () => {
    const { execute, clock, session } = await setUp();
    const first = execute({ timeout_ms: 1000 });
    await turn();
    clock.advance(1000);
    const { said } = await first;
    const second = execute({ timeout_ms: 1000, task_ttl_ms: 5000 });
    await turn();
    clock.advance(1000);
    const { said: next, result } = await second;
    expect(JSON.stringify(result)).toContain('Tool call exceeded timeout (1000ms). Promoted to task');
    const [one, two] = session.tasks.list();
    expect(said['proxy_task']).toMatchObject({ task_id: one?.id, status: 'working', server: 'one', tool: 'work' });
    expect(next['proxy_task']).toMatchObject({ task_id: two?.id, ttl_ms: 5000 });
    expect(next['pending_on_server']).toMatchObject({ tasks: [{ task_id: one?.id }], elicitations_for_server: [] });
  });

  test('H-3, H-5: returns a task and the question as soon as the call asks, with everything needed to answer', async () => {
    const { execute, server, tell, session } = await setUp();
    const reply = execute();
    await turn();
    const answered = server.last.ask(FORM);
    const { said } = await reply;
    const [question] = session.interactions.list('elicitation');
    expect(said['proxy_task']).toMatchObject({ status: 'working' });
    expect(said['pending_client_action']).toMatchObject({
      elicitations: [{ requestId: question?.id, server: 'one', ...FORM }],
    });
    const wrong = await tell('respond_to_elicitation', { request_id: question?.id, action: 'accept', content: {} });
    expect(wrong.result['isError']).toBe(true);
    await tell('respond_to_elicitation', { request_id: question?.id, ...ANSWER });
    expect(await answered).toEqual(ANSWER);
  });

  test.each([
    ['execute_tool', { server: 'none', tool: 'x' }, 'TOOL_ERR_SERVER_NOT_FOUND'],
    ['execute_tool', { server: 'one' }, 'TOOL_ERR_INVALID_ARGUMENT'],
    ['execute_tool', { server: { toString: 0, valueOf: 0 }, tool: 'x' }, 'TOOL_ERR_INVALID_ARGUMENT'],
    ['execute_tool', { server: 'one', tool: 'x', argz: {} }, 'TOOL_ERR_INVALID_ARGUMENT'],
    ['get_task', { task_id: 'none' }, 'TOOL_ERR_TASK_NOT_FOUND'],
  ])('H-12, X-4: returns an error code for %s %j', async (name, args, code) => {
    const { tell } = await setUp();
    const { result, said } = await tell(name, args);
    expect(result['isError']).toBe(true);
    expect(said['error']).toMatchObject({ code });
  });

  test('X-4: an unknown tool of the hub is a protocol error', async () => {
    const { tell } = await setUp();
    await expect(tell('execute_tol', {})).rejects.toMatchObject({ code: -32602 });
  });

  test.each([
    ['tools/call', 'name', { toString: 0, valueOf: 0 }, "'[object]'"],
    ['tools/call', 'name', [[]], "'[list]'"],
    ['resources/read', 'uri', { toString: 0, valueOf: 0 }, "'[object]'"],
    ['resources/read', 'uri', 5, "'5'"],
  ])('X-4: %s with the %s %j is refused', async (method, field, value, shown) => {
    const { hub, session } = await setUp();
    const caller = { session, exchange: new Exchange(), mayRunCommands: false, asking: UNASKED };
    await expect(async () => hub.handle(method, { [field]: value }, caller)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(shown) as unknown,
    });
  });

  test('H-12: a tool that the server does not have is reported as not found', async () => {
    const { execute, server, backends } = await setUp();
    backends.methods['tools/list'] = () => ({ tools: [{ name: 'works' }] });
    const reply = execute();
    await turn();
    server.last.fail('Unknown tool: work', -32602);
    expect((await reply).said['error']).toMatchObject({ code: 'TOOL_ERR_NOT_FOUND' });
  });

  test('H-12: a server whose tool list is slow does not delay the error', async () => {
    const { execute, server, backends, clock } = await setUp();
    backends.methods['tools/list'] = () => new Promise(() => {});
    const reply = execute();
    await turn();
    server.last.fail('Unknown tool: work', -32602);
    await turn();
    clock.advance(2000);
    expect((await reply).said['error']).toMatchObject({ code: 'TOOL_ERR_EXECUTION_FAILED' });
  });

  test('X-3: the number of concurrent requests of a session is limited', async () => {
    const { execute, tell } = await setUp({ limits: { requestsPerSession: 1 } });
    void execute();
    await turn();
    expect((await tell('list_tasks')).said['error']).toMatchObject({ code: 'TOOL_ERR_LIMIT' });
  });
});

describe('a reply that does not arrive', () => {
  test('T-4: leaves a task, which the next reply reports', async () => {
    const { execute, server, tell, session } = await setUp();
    const exchange = new Exchange();
    const reply = execute({}, { exchange });
    await turn();
    exchange.clientLeft();
    await reply;
    server.last.answer('kept');
    await turn();
    const next = await tell('list_servers');
    expect(eventsIn(next)).toEqual(['task_created', 'task_completed']);
    const [task] = session.tasks.list();
    const { result } = await tell('get_task_result', { task_id: task?.id });
    expect(result).toMatchObject(textResult('kept'));
  });

  test('E-1: leaves its result as a task', async () => {
    const { execute, server, tell, session } = await setUp();
    const exchange = new Exchange();
    const reply = execute({}, { exchange });
    await turn();
    server.last.answer('kept');
    await reply;
    exchange.settle(false);
    expect(session.tasks.list()).toMatchObject([{ status: 'completed', abandoned: true }]);
    expect(eventsIn(await tell('list_servers'))).toEqual(['task_created', 'task_completed']);
  });

  test('E-1: gets its events delivered again with the next reply', async () => {
    const { call, tell, server } = await setUp();
    server.say('notifications/vendor', { n: 1 });
    const lost = new Exchange();
    expect(eventsIn(await call('list_servers', {}, { exchange: lost }))).toEqual(['notification']);
    lost.settle(false);
    expect(eventsIn(await tell('list_servers'))).toEqual(['notification']);
    expect(eventsIn(await tell('list_servers'))).toEqual([]);
  });

  test('T-4: stops the call at the server if the client cancelled', async () => {
    const { execute, server, session } = await setUp();
    const exchange = new Exchange(undefined, 'cancel');
    const reply = execute({}, { exchange });
    await turn();
    exchange.cancel('the user pressed Escape');
    await reply;
    expect(server.last.stoppedFor).toMatchObject({ message: 'the user pressed Escape' });
    expect(session.tasks.list()).toEqual([]);
  });

  test('E-5: is still delivered to a client that resumes its stream', async () => {
    const { execute, server, session, tell } = await setUp();
    const exchange = new Exchange();
    const reply = execute({}, { exchange });
    await turn();
    exchange.clientLeft({ resumable: true });
    await turn();
    exchange.clientReturned();
    server.last.answer('in the end');
    expect((await reply).result).toEqual(textResult('in the end'));
    exchange.settle(true);
    // That there was a task in between is no news.
    expect(session.tasks.list()).toMatchObject([{ status: 'completed' }]);
    expect(session.tasks.list()[0]).not.toHaveProperty('abandoned');
    expect(eventsIn(await tell('list_servers'))).toEqual([]);
  });

  test('E-5: becomes a task if the timeout passes before the client returns', async () => {
    const { execute, clock } = await setUp();
    const exchange = new Exchange();
    const reply = execute({ timeout_ms: 1000 }, { exchange });
    await turn();
    clock.advance(600);
    exchange.clientLeft({ resumable: true });
    await turn();
    clock.advance(399);
    await turn();
    clock.advance(1);
    expect(JSON.stringify((await reply).result)).toContain('Tool call exceeded timeout (1000ms)');
  });
});

describe('tasks', () => {
  test('H-6: get_task_result waits until the task has ended', async () => {
    const { promoted, server, call, clock } = await setUp();
    const task_id = await promoted();
    const waiting = call('get_task_result', { task_id, timeout_ms: 1000 });
    await turn();
    clock.advance(500);
    server.last.answer('there');
    expect((await waiting).result['content']).toContainEqual({ type: 'text', text: 'there' });
  });

  test('H-6: get_task_result returns the state after its timeout, or when the task needs an answer', async () => {
    const { promoted, server, call, clock } = await setUp();
    const task_id = await promoted();
    const late = call('get_task_result', { task_id, timeout_ms: 1000 });
    await turn();
    clock.advance(1000);
    expect((await late).said['task']).toMatchObject({ status: 'working' });
    const asked = call('get_task_result', { task_id });
    await turn();
    void server.last.ask(FORM).catch(() => {});
    expect((await asked).said['pending_client_action']).toMatchObject({ elicitations: [{ message: FORM.message }] });
  });

  test('H-6: cancel_task cancels a task and its call once', async () => {
    const { promoted, server, tell } = await setUp();
    const task_id = await promoted();
    expect((await tell('cancel_task', { task_id })).said['success']).toBe(true);
    expect(server.last.stoppedFor).toMatchObject({ message: 'cancelled by the client' });
    expect((await tell('cancel_task', { task_id })).said['success']).toBe(false);
    const { result } = await tell('get_task_result', { task_id });
    expect(result['isError']).toBe(true);
  });
});

describe('await_activity', () => {
  test('H-7: returns at once if there are undelivered events', async () => {
    const { tell, server } = await setUp();
    server.say('notifications/vendor', { n: 1 });
    expect((await tell('await_activity')).said).toMatchObject({
      triggers: [{ type: 'immediate' }],
      events: [{ server: 'one', events: [{ type: 'notification' }] }],
    });
  });

  test('H-7: waits, and returns the events of one turn', async () => {
    const { call, server } = await setUp();
    const woken = call('await_activity', { timeout_ms: 1000 });
    await turn();
    server.say('notifications/vendor', { n: 1 });
    server.say('notifications/vendor', { n: 2 });
    const event = { type: 'event', server: 'one', eventType: 'notification' };
    expect((await woken).said['triggers']).toEqual([event, event]);
  });

  test('H-7: returns the trigger timeout if nothing happens', async () => {
    const { call, clock } = await setUp();
    const late = call('await_activity', { timeout_ms: 1000 });
    await turn();
    clock.advance(1000);
    expect((await late).said).toMatchObject({ triggers: [{ type: 'timeout' }], events: [] });
  });

  test('H-7: stops waiting when the client has left', async () => {
    const { call } = await setUp();
    const exchange = new Exchange();
    const left = call('await_activity', { timeout_ms: 100_000 }, { exchange });
    await turn();
    exchange.clientLeft();
    expect((await left).said['triggers']).toEqual([{ type: 'timeout' }]);
  });
});

describe('a client that gets questions in rounds', () => {
  const asking: AskingByRound = { by: 'round', capabilities: { elicitation: {} }, answers: {} };

  /** Takes a call to its first round. */
  async function firstRound(settings: Record<string, unknown> = {}, args: Record<string, unknown> = {}) {
    const all = await setUp({ questions: { via: 'both' }, ...settings });
    const exchange = new Exchange();
    const reply = all.execute(args, { asking, exchange });
    await turn();
    const answered = all.server.last.ask(FORM, { key: 'size' }).catch((error: Error) => error.message);
    await turn();
    all.clock.advance(GATHER_MS);
    const { result } = await reply;
    const waiting = readState(all.session.key, result['requestState']);
    const taskId = 'task' in waiting ? waiting.task : '';
    const goOn = (answers: Record<string, unknown>, how: { exchange?: Exchange } = {}): Promise<Reply> =>
      all.execute(args, { asking: { ...asking, answers, taskId }, ...how });
    return { ...all, exchange, result, answered, taskId, goOn };
  }

  test('H-13: gets the question instead of the reply, and the result after its answer', async () => {
    const { result, exchange, goOn, answered, server, tell, session } = await firstRound();
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { size: { method: 'elicitation/create', params: FORM } },
    });
    exchange.settle(true);
    const second = new Exchange();
    const reply = goOn({ size: ANSWER }, { exchange: second });
    expect(await answered).toEqual(ANSWER);
    server.last.answer('M it is');
    expect((await reply).result).toEqual(textResult('M it is'));
    second.settle(true);
    // The client knows nothing of the task.
    expect(session.tasks.list()).toEqual([]);
    expect(eventsIn(await tell('list_servers'))).toEqual([]);
  });

  test('H-13: gets simultaneous questions in one round', async () => {
    const all = await setUp({ questions: { via: 'both' } });
    const reply = all.execute({}, { asking });
    await turn();
    for (const key of ['a', 'b']) void all.server.last.ask(FORM, { key }).catch(() => {});
    await turn();
    all.clock.advance(GATHER_MS);
    expect(Object.keys((await reply).result['inputRequests'] as object)).toEqual(['a', 'b']);
  });

  test('H-9, X-4: gets an error for an invalid answer, and the question stays open', async () => {
    const { goOn, session } = await firstRound();
    const { said } = await goOn({ size: { action: 'accept', content: { size: 5 } } });
    expect(said['error']).toMatchObject({ code: 'TOOL_ERR_INVALID_ANSWER' });
    expect(session.interactions.list('elicitation')).toHaveLength(1);
  });

  test('H-13: that dismisses the question leaves it to the tools, and gets the task', async () => {
    const { goOn, session, answered } = await firstRound();
    const { said } = await goOn({ size: { action: 'cancel' } });
    expect(said['proxy_task']).toBeDefined();
    expect(said['pending_client_action']).toMatchObject({ elicitations: [{ message: FORM.message }] });
    const [question] = session.interactions.list('elicitation');
    await session.interactions.answer(question?.id ?? '', 'elicitation', ANSWER);
    expect(await answered).toEqual(ANSWER);
  });

  test.each([
    ['at once', 0, 'open'],
    ['after a while', 5000, 'answered'],
  ])('H-13: that declines %s: the decline counts only if a person had time to decide', async (_when, ms, expected) => {
    const { goOn, clock, session, answered } = await firstRound({ questions: { via: 'both', minDeclineMs: 1000 } });
    clock.advance(ms);
    void goOn({ size: { action: 'decline' } });
    await turn();
    const { length } = session.interactions.list('elicitation');
    expect(length === 0 ? 'answered' : 'open').toBe(expected);
    if (expected === 'answered') expect(await answered).toEqual({ action: 'decline' });
  });

  test('H-3: gets a task if the call takes too long after the answer', async () => {
    const { goOn, clock } = await firstRound({}, { timeout_ms: 1000 });
    const reply = goOn({ size: ANSWER });
    await turn();
    clock.advance(1000);
    expect(JSON.stringify((await reply).result)).toContain('Tool call exceeded timeout (1000ms)');
  });

  test('D-7: that does not return leaves the question to others after the timeout', async () => {
    const { session, clock } = await firstRound({ questions: { via: 'native' } }, { timeout_ms: 1000 });
    const told = (): unknown[] => session.events.take().events.map(({ type }) => type);
    expect(told()).not.toContain('elicitation_request');
    clock.advance(1000);
    expect(told()).toContain('elicitation_request');
  });

  test('X-4: that returns with the state of another tool or of an ended call gets an error', async () => {
    const { execute, session, taskId, goOn } = await firstRound();
    const other = await execute({ tool: 'other' }, { asking: { ...asking, taskId } });
    expect(other.said['error']).toMatchObject({ code: 'TOOL_ERR_TASK_NOT_FOUND' });
    session.calls.cancel(taskId, 'over');
    session.tasks.delivered(taskId);
    expect((await goOn({})).said['error']).toMatchObject({ code: 'TOOL_ERR_TASK_NOT_FOUND' });
  });
});
