import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { eventsUntil, has, settle, soon } from '../flows/watch.ts';
import {
  asking,
  coreTask,
  extensionTask,
  httpByHand,
  legacy,
  modern,
  programByHand,
  question,
  text,
  toolNamed,
  type Json,
  type Script,
} from './by-hand.ts';
import { connectTo } from './connected.ts';

const ATTEMPTS = 3;
const NEVER_MS = 600_000;
const ACCEPT = { action: 'accept', content: {} };
const QUESTIONS = { inputRequests: { key: { method: 'elicitation/create', params: question('Sure?') } } };

const DONE = { kind: 'result', result: text('done') };

test('B-3, B-6: an answer that cannot be delivered ends the call after a few attempts', async () => {
  const server = await httpByHand(
    modern({
      'tools/call': (asker) => asker.reply(extensionTask('working', { resultType: 'task' })),
      'tasks/get': (asker) => asker.reply(extensionTask('input_required', { ...QUESTIONS, pollIntervalMs: NEVER_MS })),
      'tasks/update': (asker) => asker.breakOff(),
    }),
  );
  const { call } = connectTo(server.config, { answer: async () => ACCEPT });
  expect(await call('a')).toMatchObject({ kind: 'lost' });
  expect(server.count('tasks/update')).toBe(ATTEMPTS + 1);
  expect(server.count('tasks/get')).toBeLessThan(5);
});

test('B-3, B-6: a tasks/result that always breaks off ends the call', async () => {
  const server = await httpByHand(
    legacy({
      'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
      'tasks/get': (asker) => asker.reply(coreTask('completed')),
      'tasks/result': (asker) => asker.breakOff(),
    }),
  );
  const { call } = connectTo(server.config);
  expect(await call('a')).toMatchObject({ kind: 'lost' });
  expect(server.count('tasks/result')).toBe(ATTEMPTS + 1);
});

test('B-3, B-6: a tasks/result that breaks off once is requested again', async () => {
  const server = await httpByHand(
    legacy({
      'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
      'tasks/get': (asker) => asker.reply(coreTask('completed')),
      'tasks/result': (asker) => (server.count('tasks/result') === 1 ? asker.breakOff() : asker.reply(text('done'))),
    }),
  );
  const { call } = connectTo(server.config);
  expect(await call('a')).toEqual(DONE);
});

/** A whole call, in which the server's question is answered. */
const CORE: Script = legacy({
  'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
  'tasks/get': (asker) => asker.reply(coreTask('completed')),
  'tasks/result': (asker) => asker.reply(text('done')),
});

function extension(): Script {
  let answered = false;
  return modern({
    'tools/call': (asker) => asker.reply(extensionTask('working', { resultType: 'task' })),
    'tasks/get': (asker) =>
      asker.reply(
        answered ? extensionTask('completed', { result: text('done') }) : extensionTask('input_required', QUESTIONS),
      ),
    'tasks/update': (asker) => {
      answered = true;
      asker.reply({ resultType: 'complete' });
    },
  });
}

const BUSY = [429, 502, 503, 504].flatMap((code) => [
  { code, how: 'core', method: 'tasks/get', script: () => CORE },
  { code, how: 'core', method: 'tasks/result', script: () => CORE },
  { code, how: 'extension', method: 'tasks/get', script: extension },
  { code, how: 'extension', method: 'tasks/update', script: extension },
]);

test.each(BUSY)('B-3, B-6: HTTP $code on $method does not end the $how task', async ({ code, method, script }) => {
  const usual = script();
  const server = await httpByHand({
    ...usual,
    [method]: (asker, params) => {
      if (server.count(method) === 1) asker.status(code);
      else usual[method]?.(asker, params);
    },
  });
  const { call } = connectTo(server.config, { answer: async () => ACCEPT });
  expect(await call('a')).toEqual(DONE);
  expect(server.count(method)).toBeGreaterThan(1);
  expect(server.count('tasks/cancel')).toBe(0);
});

test.each(['core', 'extension'] as const)('B-3, B-6: endless HTTP 503 ends the %s task as lost', async (how) => {
  const usual = how === 'core' ? CORE : extension();
  const server = await httpByHand({ ...usual, 'tasks/get': (asker) => asker.status(503) });
  const { call } = connectTo(server.config);
  expect(await call('a')).toMatchObject({ kind: 'lost' });
  expect(server.count('tasks/get')).toBe(ATTEMPTS + 1);
});

/** What becomes of the answer, which comes when the server has gone on without it. */
const LATE = [
  { how: 'is refused', update: (asker: Parameters<Script[string]>[0]) => asker.fail(-32_602, 'asked no more') },
  { how: 'never arrives', update: (asker: Parameters<Script[string]>[0]) => asker.breakOff() },
];

/** Asks, and says `next` in turn once the answer was given; it is looked at only when there is a reason. */
function impatient(update: Script[string], next: Json[]): { script: Script; answer: () => Promise<typeof ACCEPT> } {
  let on = false;
  const script = modern({
    'tools/call': (asker) => asker.reply(extensionTask('working', { resultType: 'task' })),
    'tasks/get': (asker) => {
      const told = on ? next[0] : extensionTask('input_required', { ...QUESTIONS, pollIntervalMs: NEVER_MS });
      if (on && next.length > 1) next.shift();
      asker.reply(told ?? {});
    },
    'tasks/update': update,
  });
  const answer = async (): Promise<typeof ACCEPT> => {
    on = true;
    return ACCEPT;
  };
  return { script, answer };
}

test.each(LATE)('B-6: an answer that $how does not affect the result that came without it', async ({ update }) => {
  const { script, answer } = impatient(update, [extensionTask('completed', { result: text('done') })]);
  const server = await httpByHand(script);
  const { call } = connectTo(server.config, { answer });
  expect(await call('a')).toEqual(DONE);
  expect(server.count('tasks/update')).toBeGreaterThan(0);
  expect(server.count('tasks/cancel')).toBe(0);
});

test('B-6: an answer that is refused by a working task does not end the call', async () => {
  const refuse: Script[string] = (asker) => asker.fail(-32_602, 'asked no more');
  const next = [
    extensionTask('working'),
    extensionTask('working'),
    extensionTask('completed', { result: text('done') }),
  ];
  const { script, answer } = impatient(refuse, next);
  const server = await httpByHand(script);
  const { call } = connectTo(server.config, { answer });
  expect(await call('a')).toEqual(DONE);
  expect(server.count('tasks/update')).toBe(1);
  expect(server.count('tasks/cancel')).toBe(0);
});

test('B-3, H-3: a call that waited for a lost tools/list is not sent afterwards', async () => {
  const program = await programByHand(
    legacy({
      'tools/list': (asker) => (program.count('initialize') === 1 ? asker.breakOff() : asker.reply({ tools: [] })),
      'tools/call': (asker) => asker.reply(text('paid')),
    }),
  );
  const { connection, call } = connectTo(program.config);
  expect(await call('a')).toMatchObject({ kind: 'lost' });
  await connection.ready();
  await connection.request('ping', {});
  expect(program.count('initialize')).toBe(2);
  expect(program.count('tools/call')).toBe(0);
});

test('B-6, T-4: a call that is cancelled while its server connects does not wait for tools/list', async () => {
  const program = await programByHand(legacy({ 'tools/list': () => {}, 'tools/call': (asker) => asker.reply({}) }));
  const { connection, call } = connectTo(program.config, { pollTimeoutMs: NEVER_MS });
  const stop = new AbortController();
  const ended = call('a', { signal: stop.signal });
  stop.abort();
  expect(await ended).toEqual({ kind: 'error', error: { code: -32_000, message: 'cancelled' } });
  await connection.request('ping', {});
  expect(program.count('tools/call')).toBe(0);
});

test.each([null, 'homework', { taskId: 't', status: 'working' }])(
  'B-6, H-3: a result may have a field named task: %j',
  async (task) => {
    const result = { ...text('hello'), task };
    const program = await programByHand(
      legacy({
        'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'optional')] }),
        'tools/call': (asker) => asker.reply(result),
      }),
    );
    const { call } = connectTo(program.config);
    expect(await call('a')).toEqual({ kind: 'result', result });
    expect(program.count('tasks/get')).toBe(0);
  },
);

const KEEPERS = [
  {
    how: 'core task',
    start: async () => owned(await startTasksV1Http()),
    again: async ({ port, state }: Awaited<ReturnType<typeof startTasksV1Http>>) => startTasksV1Http({ port, state }),
  },
  {
    how: 'extension task',
    start: async () => owned(await startTasksV2Http()),
    again: async ({ port, state }: Awaited<ReturnType<typeof startTasksV2Http>>) => startTasksV2Http({ port, state }),
  },
];

test.each(KEEPERS)(
  'H-6, B-3: a server that was away gets the cancel of its $how when it returns',
  async ({ start, again }) => {
    const server = await start();
    const reconnect = { firstMs: 50, maxMs: 100, attempts: 1000 };
    const { url } = await httpGateway({ one: { url: server.url } }, { servers: { pingMs: 100, reconnect } });
    const hub = await hubOverHttp(url);
    await settle(hub);
    const promoted = await hub.call('execute_tool', { server: 'one', tool: 'hold', timeout_ms: 100 });
    await server.stop();
    await eventsUntil(hub, has('server_disconnected'));
    const cancelled = await hub.call('cancel_task', { task_id: taskIdOf(promoted) });
    expect(cancelled.body).toMatchObject({ success: true });
    expect(server.state.cancelled).toEqual([]);
    const { state } = owned(await again(server as never));
    await soon(() => state.cancelled).toEqual(['hold']);
  },
);

const RELATED = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } };

/** Asks, and leaves open from then on how the task is doing: whoever looks is still looking when the cancel comes. */
function busyAsking(): Script {
  let asked = false;
  return legacy({
    'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
    'tasks/get': (asker) => {
      if (!asked) asker.reply(coreTask('input_required'));
    },
    'tasks/result': (asker) => {
      asked = true;
      asker.say(asking('question', 'Sure?', RELATED));
    },
  });
}

test.each([
  { door: 'http', start: httpByHand },
  { door: 'stdio', start: programByHand },
])('H-6, B-6: a cancelled task gets tasks/cancel before its question is refused ($door)', async ({ start }) => {
  const server = await start(busyAsking());
  const hub = await hubOverHttp((await httpGateway({ one: server.config })).url);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'work' });
  expect(asked.elicitations).toMatchObject([{ message: 'Sure?', taskId: taskIdOf(asked) }]);
  await soon(() => server.count('tasks/get')).toBe(2);
  await hub.call('cancel_task', { task_id: taskIdOf(asked) });
  const refusal = (): number => server.heard.findIndex(({ id, method }) => id === 'question' && method === undefined);
  await soon(refusal).toBeGreaterThan(0);
  const cancel = server.heard.findIndex(({ method }) => method === 'tasks/cancel');
  expect(cancel).toBeGreaterThan(0);
  expect(cancel).toBeLessThan(refusal());
  expect(server.heard[refusal()]).toMatchObject({ error: { code: expect.any(Number) as unknown } });
});

test('R-17, R-18: a question that a command server asked with a task ends with the process', async () => {
  const program = await programByHand(
    legacy(
      { 'tools/call': (asker) => asker.say(asking('q', 'Still there?', { task: { ttl: 3_600_000 } })) },
      { tasks: undefined },
    ),
  );
  // Nobody tries to reach it again in the lifetime of this test: its restart would end the question, too.
  const reconnect = { firstMs: 60_000, maxMs: 60_000, attempts: 1000 };
  const hub = await hubOverHttp((await httpGateway({ one: program.config }, { servers: { reconnect } })).url);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'work' });
  expect(asked.elicitations).toMatchObject([{ message: 'Still there?' }]);
  program.stop();
  const events = await eventsUntil(hub, has('server_disconnected'));
  expect(events).toMatchObject(expect.arrayContaining([expect.objectContaining({ type: 'elicitation_expired' })]));
  expect((await hub.call('get_elicitations')).elicitations).toEqual([]);
});
