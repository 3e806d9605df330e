import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { clientOf, errorOf, next, soon, text, unsigned } from './clients.ts';
import { ALL, requestsTo, WITH_TASKS } from './servers.ts';

const ASKED = { elicitation: true, sampling: true };

test.each(ALL)(
  'C-1: a question is emitted as an event and answered ($tasks, $era, $door)',
  async ({ start, tasks }) => {
    const { client, of } = clientOf((await start()).config, ASKED);
    const stream = client.callToolStream('ask', { message: 'Who is there?' });
    const question = await next(() => of('newPendingElicitation'));
    expect(question).toMatchObject({
      id: expect.stringMatching(/.+/) as unknown,
      message: 'Who is there?',
      mode: 'form',
      requestedSchema: { properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] },
      params: { message: 'Who is there?', mode: 'form' },
    });
    expect(question).not.toHaveProperty('url');
    expect(question.over.aborted).toBe(false);
    question.respond({ action: 'accept', content: { name: 'Ada' } });
    expect(question.over.aborted).toBe(true);
    expect(unsigned((await stream).result)).toEqual(text('Hello Ada'));
    expect(of('newPendingElicitation')).toHaveLength(1);
    if (tasks === 'none') expect(question).not.toHaveProperty('taskId');
  },
);

test.each(WITH_TASKS)(
  'C-1: a question names its task, which has status input_required ($tasks, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config, ASKED);
    const seen: unknown[] = [];
    client.addEventListener('newPendingElicitation', ({ detail: { taskId } }) => {
      seen.push(client.getClientTasks().find((task) => task.taskId === taskId)?.status);
    });
    const stream = client.callToolStream('ask');
    const question = await next(() => of('newPendingElicitation'));
    expect(of('taskCreated')).toMatchObject([{ taskId: question.taskId }]);
    expect(seen).toEqual(['input_required']);
    question.respond({ action: 'accept', content: { name: 'Ada' } });
    expect(await stream).toMatchObject({ taskId: question.taskId, result: text('Hello Ada') });
    // A server may ask before it has named the task.
    const statuses = [...of('taskCreated'), ...of('taskStatusChange')].map(({ task }) => task.status);
    expect(statuses).toContain('input_required');
    expect(statuses.at(-1)).toBe('completed');
    expect(client.getClientTasks()).toMatchObject([{ status: 'completed' }]);
  },
);

test.each(WITH_TASKS)('C-1: each of three parallel questions names its own task ($tasks, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config, ASKED);
  const names = ['Eve', 'Flo', 'Gus'];
  const streams = names.map((name) => client.callToolStream('ask', { message: `Are you ${name}?` }));
  await soon(() => of('newPendingElicitation').length).toBe(3);
  for (const question of of('newPendingElicitation').toReversed()) {
    const name = question.message.replace(/Are you (.*)\?/, '$1');
    question.respond({ action: 'accept', content: { name } });
  }
  const ended = await Promise.all(streams);
  expect(ended.map(({ result }) => result)).toEqual(names.map((name) => text(`Hello ${name}`)));
  for (const [index, name] of names.entries()) {
    const question = of('newPendingElicitation').find(({ message }) => message.includes(name));
    expect(question?.taskId).toBe(ended[index]?.taskId);
  }
});

test.each(ALL)(
  'C-1: an answer that does not match the schema leaves the question open ($tasks, $era, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config, ASKED);
    const stream = client.callToolStream('ask');
    const question = await next(() => of('newPendingElicitation'));
    const accept = (content?: Record<string, unknown>): void =>
      question.respond({ action: 'accept', ...(content && { content }) });
    expect(() => accept({})).toThrow("'name' is missing");
    expect(() => accept()).toThrow("'name' is missing");
    expect(() => accept({ name: 5 })).toThrow('expected a string');
    expect(() => accept({ name: '' })).toThrow('at least 1 character');
    expect(question.over.aborted).toBe(false);
    accept({ name: 'Ada' });
    // Only the first one counts, and whoever comes later is not told off.
    question.respond({ action: 'decline' });
    accept({});
    expect(unsigned((await stream).result)).toEqual(text('Hello Ada'));
  },
);

test.each(ALL)(
  'C-1: two questions of one call are answered in turn, and a question is declined ($tasks, $era, $door)',
  async ({ start }) => {
    const { client, of } = clientOf((await start()).config, ASKED);
    const stream = client.callToolStream('ask_twice');
    (await next(() => of('newPendingElicitation'))).respond({ action: 'accept', content: { name: 'Ada' } });
    const second = await next(() => of('newPendingElicitation'), 1);
    expect(second.message).toBe('How old are you?');
    second.respond({ action: 'accept', content: { age: 36 } });
    expect(unsigned((await stream).result)).toEqual(text('Hello Ada, 36'));
    const declined = client.callToolStream('ask');
    (await next(() => of('newPendingElicitation'), 2)).respond({ action: 'decline' });
    expect(unsigned((await declined).result)).toEqual(text('declined'));
  },
);

const SAMPLED = { model: 'some-model', role: 'assistant', content: { type: 'text', text: 'something' } };

test.each(ALL)('C-1: a sampling request is answered ($tasks, $era, $door)', async ({ start, tasks }) => {
  const { client, of } = clientOf((await start()).config, ASKED);
  const seen: unknown[] = [];
  client.addEventListener('newPendingSample', ({ detail: { taskId } }) => {
    seen.push(client.getClientTasks().find((task) => task.taskId === taskId)?.status);
  });
  const stream = client.callToolStream('sample', { prompt: 'Say something' });
  const request = await next(() => of('newPendingSample'));
  expect(request.params).toMatchObject({
    messages: [{ role: 'user', content: { text: 'Say something' } }],
    maxTokens: 64,
  });
  expect(request.over.aborted).toBe(false);
  request.respond(SAMPLED);
  expect(request.over.aborted).toBe(true);
  request.reject('too late');
  const { result, taskId } = await stream;
  const said = result?.content[0]?.['text'];
  expect(JSON.parse(typeof said === 'string' ? said : '')).toMatchObject(SAMPLED);
  expect(request.taskId).toBe(taskId);
  expect(seen).toEqual([tasks === 'none' ? undefined : 'input_required']);
});

test.each(ALL)('C-1: a sampling request can be rejected ($tasks, $era, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config, ASKED);
  const stream = client.callToolStream('sample', { prompt: 'Say something' });
  const request = await next(() => of('newPendingSample'));
  request.reject('the person does not want it');
  expect(request.over.aborted).toBe(true);
  const said = await stream.then(
    ({ result }) => JSON.stringify(result),
    (error: unknown) => String(error),
  );
  expect(said).toContain('the person does not want it');
});

test('C-1: a question in URL mode is accepted without content', async () => {
  const { client, of } = clientOf({ url: owned(await startV1Http()).url }, ASKED);
  const stream = client.callTool('ask_url', { url: 'https://example.com/authorize?state=7' });
  const question = await next(() => of('newPendingElicitation'));
  expect(question).toMatchObject({
    mode: 'url',
    url: 'https://example.com/authorize?state=7',
    message: 'Please sign in',
  });
  expect(question).not.toHaveProperty('requestedSchema');
  question.respond({ action: 'accept' });
  expect((await stream).result).toEqual(text('signed in'));
});

const OLD = [
  { door: 'HTTP', config: async () => ({ url: owned(await startV1Http()).url }) },
  { door: 'stdio', config: async () => v1Stdio() },
];

test.each(OLD)('C-1: a question that the server withdraws is aborted ($door)', async ({ config }) => {
  const { client, of } = clientOf(await config(), ASKED);
  const stream = client.callTool('withdraw', { ms: 50 });
  const question = await next(() => of('newPendingElicitation'));
  expect((await stream).result).toEqual(text('withdrew'));
  await soon(() => question.over.aborted).toBe(true);
  question.respond({ action: 'accept', content: { name: 'Ada' } });
  expect((await client.callTool('echo', { text: 'still here' })).success).toBe(true);
});

test.each(ALL)('C-1: cancelling a call aborts its questions ($tasks, $era, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config, ASKED);
  const cancel = new AbortController();
  const ended = errorOf(client.callToolStream('ask', {}, {}, {}, { signal: cancel.signal }));
  const question = await next(() => of('newPendingElicitation'));
  cancel.abort();
  expect(await ended).toMatchObject({ kind: 'cancelled' });
  await soon(() => question.over.aborted).toBe(true);
});

test.each(ALL)('C-1: disconnecting aborts questions and their calls ($tasks, $era, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config, ASKED);
  const ended = errorOf(client.callToolStream('ask'));
  const question = await next(() => of('newPendingElicitation'));
  await client.disconnect();
  expect(await ended).toMatchObject({ kind: 'lost' });
  await soon(() => question.over.aborted).toBe(true);
});

test('C-1: losing the server aborts a question', async () => {
  const server = owned(await startV1Http());
  const { client, of } = clientOf({ url: server.url }, { ...ASKED, reconnectAttempts: 0 });
  const ended = errorOf(client.callTool('ask'));
  const question = await next(() => of('newPendingElicitation'));
  await server.close();
  await soon(() => question.over.aborted).toBe(true);
  expect(await ended).toMatchObject({ kind: 'lost' });
});

const DECLARATIONS = [
  { options: {}, declared: [] },
  { options: { elicitation: true }, declared: ['elicitation'] },
  { options: { sampling: true }, declared: ['sampling'] },
  { options: ASKED, declared: ['elicitation', 'sampling'] },
];

test.each(DECLARATIONS)(
  'C-1: a client declares only the capabilities that it has handlers for: $declared',
  async ({ options, declared }) => {
    for (const { start, tasks } of WITH_TASKS) {
      const server = await start();
      const { client } = clientOf(server.config, { ...options, name: 'somebody', version: '7.8.9' });
      await client.callToolStream('slow', { ms: 1 });
      const { capabilities, clientInfo } = await introduction(server, tasks);
      expect(['elicitation', 'sampling'].filter((each) => each in capabilities)).toEqual(declared);
      expect(clientInfo).toMatchObject({ name: 'somebody', version: '7.8.9' });
      // What may be asked with a task is the same.
      const { requests } = (capabilities['tasks'] ?? {}) as { requests?: object };
      if (tasks === '2025-11-25') expect(Object.keys(requests ?? {}).toSorted()).toEqual(declared);
    }
  },
);

/** How a client introduced itself: with the session, or in each request. */
async function introduction(server: Parameters<typeof requestsTo>[0], tasks: string) {
  if (tasks === '2025-11-25') {
    const [initialize] = await requestsTo(server, 'initialize');
    return initialize?.params as { capabilities: Record<string, unknown>; clientInfo: unknown };
  }
  const [call] = await requestsTo(server, 'tools/call');
  const meta = call?.params?.['_meta'] as Record<string, unknown>;
  return {
    capabilities: meta['io.modelcontextprotocol/clientCapabilities'] as Record<string, unknown>,
    clientInfo: meta['io.modelcontextprotocol/clientInfo'],
  };
}

test.each(OLD)('C-1: a request of a kind that the client did not declare is refused ($door)', async ({ config }) => {
  const { client, names } = clientOf(await config());
  for (const tool of ['ask', 'sample']) {
    const error = await errorOf(client.callTool(tool, { prompt: 'hello' }));
    expect(error).toMatchObject({ kind: 'error', message: expect.stringMatching(/elicitation|sampling/) as unknown });
  }
  expect(names()).toEqual(['toolCallResultChange', 'toolCallResultChange']);
});

test('C-1: a task with two open questions is followed to its result', async () => {
  const { url } = owned(await startTasksV1Http());
  const { client, of } = clientOf({ url }, ASKED);
  const stream = client.callToolStream('ask_both');
  await soon(() => of('newPendingElicitation').length).toBe(2);
  const [first, second] = of('newPendingElicitation');
  expect(first?.taskId).toBe(second?.taskId);
  first?.respond({ action: 'accept', content: { name: 'Ada' } });
  second?.respond({ action: 'accept', content: { age: 36 } });
  expect((await stream).result).toEqual(text('Hello Ada, 36'));
});
