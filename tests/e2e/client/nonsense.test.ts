import { expect, test } from 'vitest';
import type { TaskClient } from '../../../src/client/index.ts';
import {
  asking,
  coreTask,
  httpByHand,
  legacy,
  modern,
  programByHand,
  question,
  text,
  toolNamed,
} from '../native/by-hand.ts';
import { clientOf, errorOf, next, soon } from './clients.ts';

/** Each answer is something else than what was asked for. */
const NONSENSE = legacy(
  {
    'tools/list': (asker) => asker.reply({ tools: [], nextCursor: 'the same' }),
    'resources/list': (asker) => asker.reply({ resources: [], nextCursor: 'the same' }),
    'tasks/get': (asker) => asker.reply({ taskId: 't', status: 'nonsense' }),
    'tasks/list': (asker) => asker.reply({ tasks: [{}] }),
    'tools/call': (asker) => asker.reply(text('done')),
  },
  { resources: {} },
);

const DOORS = [
  { door: 'HTTP', start: httpByHand },
  { door: 'stdio', start: programByHand },
];

const WAYS: { name: string; use: (client: TaskClient) => Promise<unknown> }[] = [
  { name: 'getTask', use: (client) => client.getTask('t') },
  { name: 'getTaskResult', use: (client) => client.getTaskResult('t') },
  { name: 'watchTask', use: (client) => client.watchTask('t') },
  { name: 'listTasks', use: (client) => client.listTasks() },
  { name: 'listTools', use: (client) => client.listTools() },
  { name: 'listAll', use: (client) => client.listAll('resources/list', 'resources') },
];

test.each(DOORS.flatMap((each) => WAYS.map((way) => ({ ...each, ...way }))))(
  'C-1: $name reports an invalid response as a TaskClientError ($door)',
  async ({ start, use }) => {
    const { client } = clientOf((await start(NONSENSE)).config);
    const error = await errorOf(use(client));
    expect(error).toMatchObject({ name: 'TaskClientError', kind: 'error' });
    expect(error.message).not.toBe('');
  },
);

test.each(DOORS)('C-1: tools can be called although the tool list is endless ($door)', async ({ start }) => {
  const { client } = clientOf((await start(NONSENSE)).config);
  expect((await client.callTool('work')).result).toEqual(text('done'));
  expect((await client.callToolStream('work')).result).toEqual(text('done'));
});

test('C-1: a task that the server forgets with its cancel counts as cancelled', async () => {
  const server = await httpByHand(legacy({ 'tasks/get': (asker) => asker.fail(-32_602, 'Task not found') }));
  const { client, of } = clientOf(server.config);
  await client.cancelTask('t');
  expect(of('taskCancelled')).toMatchObject([{ taskId: 't' }]);
});

test.each([null, 'homework'])('C-1: a result may have a field named task: %j', async (task) => {
  const result = { ...text('hello'), task };
  const program = await programByHand(
    legacy({
      'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'optional')] }),
      'tools/call': (asker) => asker.reply(result),
    }),
  );
  const { client } = clientOf(program.config);
  expect(await client.callToolStream('work')).toMatchObject({ result, success: true });
});

const ASKED_BACK = {
  resultType: 'input_required',
  inputRequests: { key: { method: 'elicitation/create', params: question('Password?') } },
  requestState: 'opaque',
};

test.each([
  ['resources/read', { uri: 'test:it' }],
  ['prompts/get', { name: 'it' }],
])('C-1: input_required in response to %s is an error', async (method, params) => {
  const script = modern({ [method]: (asker) => asker.reply(ASKED_BACK) }, { resources: {}, prompts: {} });
  const { client } = clientOf((await httpByHand(script)).config, { elicitation: true });
  expect(await errorOf(client.request(method, params))).toMatchObject({ kind: 'error' });
});

test('C-1: a temporary HTTP 503 does not end a task', async () => {
  const server = await httpByHand(
    legacy({
      'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
      'tasks/get': (asker) =>
        server.count('tasks/get') === 1 ? asker.status(503) : asker.reply(coreTask('completed')),
      'tasks/result': (asker) => asker.reply(text('done')),
    }),
  );
  const { client, of } = clientOf(server.config);
  expect(await client.callToolStream('work')).toMatchObject({ result: text('done'), success: true });
  await next(() => of('taskCompleted'));
  expect(of('taskFailed')).toEqual([]);
  expect(server.count('tasks/cancel')).toBe(0);
});

test.each(DOORS)(
  'C-1, H-3: a question during another request is not attributed to the only task ($door)',
  async ({ start }) => {
    const server = await start(
      legacy(
        {
          'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
          'tasks/get': (asker) => asker.reply(coreTask('working')),
          'resources/read': (asker) => asker.say(asking('q', 'Which shelf?')),
        },
        { resources: {} },
      ),
    );
    const { client, of } = clientOf(server.config, { elicitation: true });
    const stop = new AbortController();
    const work = errorOf(client.callToolStream('work', {}, undefined, undefined, { signal: stop.signal }));
    await next(() => of('taskCreated'));
    const reading = errorOf(client.request('resources/read', { uri: 'test:it' }, stop.signal));
    await soon(() => of('newPendingElicitation').length).toBe(1);
    expect(of('newPendingElicitation')[0]?.taskId).toBeUndefined();
    stop.abort();
    await Promise.all([work, reading]);
  },
);
