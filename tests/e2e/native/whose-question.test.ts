import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { soon } from '../flows/watch.ts';
import { asking, coreTask, httpByHand, legacy, modern, programByHand, question, text } from './by-hand.ts';
import { connectTo } from './connected.ts';

const PLAIN = { tasks: undefined };

test('H-3, R-1: a task-augmented question belongs to the call that was open when it was asked', async () => {
  const program = await programByHand(
    legacy(
      {
        'tools/call': (asker, { name }) => {
          if (name === 'first') asker.say(asking('q', 'Sure?', { task: { ttl: 60_000 } }), asker.answer(text('done')));
        },
      },
      PLAIN,
    ),
  );
  const { connection, call, questions } = connectTo(program.config);
  await connection.ready();
  await call('a', { tool: 'first' });
  const stop = new AbortController();
  const second = call('b', { tool: 'second', signal: stop.signal });
  await soon(() => questions.length).toBe(1);
  expect(questions[0]).toMatchObject({ callId: 'a', detached: true, params: { message: 'Sure?' } });
  stop.abort();
  await second;
});

test.each([
  { door: 'http', start: httpByHand },
  { door: 'stdio', start: programByHand },
])('H-3: a question during a resource read is not attributed to the only call ($door)', async (each) => {
  const server = await each.start(
    legacy(
      {
        'tools/call': () => {},
        'resources/read': (asker) => asker.say(asking('q', 'Which shelf?')),
      },
      { ...PLAIN, resources: {} },
    ),
  );
  const { connection, call, questions } = connectTo(server.config);
  const stop = new AbortController();
  const running = call('a', { signal: stop.signal });
  const reading = connection.request('resources/read', { uri: 'test:it' }, stop.signal);
  const read = expect(reading).rejects.toThrow();
  await soon(() => questions.length).toBe(1);
  expect(questions[0]?.params).toMatchObject({ message: 'Which shelf?' });
  expect(questions[0]?.callId).toBeUndefined();
  stop.abort();
  await Promise.all([running, read]);
});

test('H-3: after a resource read ends, a question is attributed to the only call', async () => {
  const program = await programByHand(
    legacy(
      {
        'tools/call': () => {},
        'resources/read': (asker) => {
          asker.reply({ contents: [] });
        },
        ping: (asker) => asker.say(asker.answer({}), asking('q', 'Sure?')),
      },
      { ...PLAIN, resources: {} },
    ),
  );
  const { connection, call, questions } = connectTo(program.config);
  const stop = new AbortController();
  const running = call('a', { signal: stop.signal });
  await connection.request('resources/read', { uri: 'test:it' });
  await connection.channel.request('ping', {});
  await soon(() => questions.length).toBe(1);
  expect(questions[0]?.callId).toBe('a');
  stop.abort();
  await running;
});

test('H-3, B-6: a question that names a task belongs to that task’s call, on any stream', async () => {
  const server = await httpByHand(
    legacy({
      'tools/call': (asker, params) => {
        const { of } = params['arguments'] as { of: string };
        asker.reply({ task: coreTask('working', { taskId: of }) });
      },
      'tasks/get': (asker, { taskId }) =>
        asker.reply(coreTask(taskId === 'task-of-a' ? 'input_required' : 'working', { taskId })),
      'tasks/result': (asker) =>
        asker.say(asking('q', 'Sure?', { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'task-of-b' } } })),
    }),
  );
  const { call, questions } = connectTo(server.config);
  const stop = new AbortController();
  const other = call('b', { args: { of: 'task-of-b' }, signal: stop.signal });
  await soon(() => server.count('tasks/get')).toBeGreaterThan(0);
  const running = call('a', { args: { of: 'task-of-a' }, signal: stop.signal });
  await soon(() => questions.length).toBe(1);
  expect(questions[0]?.callId).toBe('b');
  stop.abort();
  await Promise.all([running, other]);
});

test('H-3, B-6: a question that names no task is attributed to the plain call, not to the task', async () => {
  const program = await programByHand(
    legacy({
      'tools/list': (asker) => {
        const tool = (name: string, taskSupport: string): Json => ({
          name,
          inputSchema: { type: 'object' },
          execution: { taskSupport },
        });
        asker.reply({ tools: [tool('long', 'required'), tool('plain', 'forbidden')] });
      },
      'tools/call': (asker, { name }) => {
        if (name === 'long') asker.reply({ task: coreTask('working', { taskId: 'long' }) });
        else asker.say(asking('q', 'Sure?'));
      },
      'tasks/get': (asker) => asker.reply(coreTask('working', { taskId: 'long' })),
    }),
  );
  const { call, questions } = connectTo(program.config);
  const stop = new AbortController();
  const named = new Promise((resolve) => {
    const listener = { onProgress: () => {}, onTask: resolve, onCheckpoint: async () => {} };
    void call('a', { tool: 'long', signal: stop.signal, listener }).finally(() => ended.push('a'));
  });
  const ended: string[] = [];
  await named;
  const plain = call('b', { tool: 'plain', signal: stop.signal });
  await soon(() => questions.length).toBe(1);
  expect(questions[0]?.callId).toBe('b');
  const other = call('c', { tool: 'plain', signal: stop.signal });
  await soon(() => questions.length).toBe(2);
  expect(questions[1]?.callId).toBeUndefined();
  stop.abort();
  await Promise.all([plain, other]);
  await soon(() => ended).toEqual(['a']);
});

const ASKED_BACK = {
  resultType: 'input_required',
  inputRequests: { key: { method: 'elicitation/create', params: question('Password?') } },
  requestState: 'opaque',
};

test.each([
  ['read_resource', { server: 'one', uri: 'test:it' }],
  ['get_prompt', { server: 'one', name: 'it' }],
])('H-3, X-4: input_required in response to %s is an error', async (tool, args) => {
  const server = await httpByHand(
    modern(
      {
        'resources/read': (asker) => asker.reply(ASKED_BACK),
        'prompts/get': (asker) => asker.reply(ASKED_BACK),
      },
      { resources: {}, prompts: {} },
    ),
  );
  const hub = await hubOverHttp((await httpGateway({ one: server.config })).url);
  const reply = await hub.call(tool, args);
  expect(reply).toMatchObject({ isError: true });
  expect(server.count('resources/read') + server.count('prompts/get')).toBe(1);
});
