/** Questions that nothing ties to one of several calls, for a client that is asked through the tools. */
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { puppet, TOOL, type Puppet } from '../direct/regressions/puppet.ts';
import { hubThrough, WAYS } from './doors.ts';
import { awaitActivity, eventsUntil, has, settle, soon, taskOf, tasksOf } from './watch.ts';

/** Longer than any test takes: a call that is answered sooner was not answered because of its timeout. */
const NEVER = 600_000;

const call = (hub: HubClient, tool: string, args: Json = {}, more: Json = {}): Promise<Reply> =>
  hub.call('execute_tool', { server: 'one', tool, args, timeout_ms: NEVER, ...more }, { timeout: NEVER });

/** Answers what is open with the name in its message, until so many questions have been answered. */
async function answerAll(hub: HubClient, count: number): Promise<void> {
  for (let answered = 0; answered < count;) {
    const { elicitations } = await hub.call('get_elicitations');
    for (const { requestId, message } of elicitations) {
      const args = { request_id: requestId, action: 'accept', content: { name: message.replace('Are you ', '') } };
      expect((await hub.call('respond_to_elicitation', args)).body).toMatchObject({ success: true });
      answered += 1;
    }
    if (elicitations.length === 0) await awaitActivity(hub);
  }
}

const results = async (hub: HubClient, promoted: Reply[]): Promise<string[]> =>
  Promise.all(promoted.map(async (reply) => (await hub.call('get_task_result', { task_id: taskIdOf(reply) })).text));

test.each(WAYS)('H-3: parallel calls that ask questions become tasks at once ($door, $kind)', async (way) => {
  const hub = await hubThrough(way, { one: v1Stdio() });
  await settle(hub);
  const names = ['Ada', 'Ben', 'Cleo'];
  const promoted = await Promise.all(names.map((name) => call(hub, 'ask', { message: `Are you ${name}` })));
  for (const reply of promoted) {
    expect(reply.text).toMatch(/^The call needs input/);
    expect(reply.elicitations.length).toBeGreaterThan(0);
  }
  await answerAll(hub, 3);
  expect(await results(hub, promoted)).toEqual(names.map((name) => `Hello ${name}`));
});

const SERVERS: { name: string; ask: string; start: () => Promise<Servers[string]> }[] = [
  { name: 'over stdio', ask: 'ask', start: async () => v1Stdio() },
  {
    name: 'on its standing stream',
    ask: 'ask_detached',
    start: async () => ({ url: owned(await startV1Http()).url }),
  },
];

test.each(SERVERS)(
  'H-3, H-5: a question of one of two parallel calls makes both calls tasks ($name)',
  async ({ ask, start }) => {
    const { url, gateway } = await httpGateway({ one: await start() });
    const hub = await hubOverHttp(url);
    await settle(hub);
    const slow = call(hub, 'slow', { ms: 1500, text: 'slow is done' });
    await soon(() => gateway.sessions[0]?.calls.size).toBe(1);
    const promoted = await Promise.all([slow, call(hub, ask)]);
    for (const reply of promoted) {
      expect(reply.elicitations).toMatchObject([{ server: 'one', message: 'What is your name?' }]);
      // Which of the two asks is not known.
      expect(reply.elicitations[0]).not.toHaveProperty('taskId');
      expect(reply.body['pending_on_server']).toMatchObject({ elicitations_for_server: [{ server: 'one' }] });
    }
    const requestId = promoted[0].elicitations[0]?.requestId;
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Di' } });
    expect(await results(hub, promoted)).toEqual(['slow is done', 'Hello Di']);
  },
);

test('H-3: sampling requests of parallel calls reach the model', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const prompts = ['one', 'two'];
  const promoted = await Promise.all(prompts.map((prompt) => call(hub, 'sample', { prompt })));
  // Both calls become tasks with the first request, so the second one may come later.
  const samplings = await vi.waitFor(async () => {
    const listed = await hub.call('get_sampling_requests');
    expect(listed.samplings).toHaveLength(2);
    return listed.samplings;
  });
  for (const { requestId, params } of samplings) {
    const [{ content } = { content: { text: '' } }] = params['messages'] as { content: { text: string } }[];
    await hub.call('respond_to_sampling', { request_id: requestId, content: `re ${content.text}` });
  }
  const texts = await results(hub, promoted);
  expect(texts.map((text) => (JSON.parse(text) as { content: Json }).content['text'])).toEqual(['re one', 're two']);
});

interface Stage {
  server: Puppet;
  hub: HubClient;
  /** Starts a call and resolves once it has reached the server. */
  begin: (name: string, more?: Json) => Promise<{ reply: Promise<Reply> }>;
  open: () => Promise<Json[]>;
}

async function stage(settings: Json = {}): Promise<Stage> {
  const server = await puppet();
  const hub = await hubOverHttp((await httpGateway({ one: server.config }, settings)).url);
  await hub.call('list_tools', { server: 'one' });
  const begin = async (name: string, more: Json = {}): Promise<{ reply: Promise<Reply> }> => {
    const reply = call(hub, TOOL, { name }, more);
    await server.begun(name);
    return { reply };
  };
  const open = async (): Promise<Json[]> => (await hub.call('get_elicitations')).body['elicitations'] as Json[];
  return { server, hub, begin, open };
}

const accept = async (hub: HubClient, requestId: unknown): Promise<void> => {
  const given = await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: {} });
  expect(given.body).toMatchObject({ success: true });
};

test('H-3: a question that any of three calls may have asked makes all three tasks', async () => {
  const { server, hub, begin } = await stage();
  const calls = [await begin('a'), await begin('b'), await begin('c')];
  server.ask('b', 'of b');
  const promoted = await Promise.all(calls.map(async ({ reply }) => reply));
  expect(new Set(promoted.map(taskIdOf)).size).toBe(3);
  await accept(hub, promoted[0]?.elicitations[0]?.requestId);
  expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
  for (const name of ['c', 'b', 'a']) server.end(name);
  expect(await results(hub, promoted)).toEqual(['end of a', 'end of b', 'end of c']);
});

test('H-3: a question is attributed to a call when it is the only candidate left', async () => {
  const { server, hub, begin, open } = await stage();
  const calls = [await begin('a'), await begin('b'), await begin('c')];
  server.ask('b', 'of b');
  const [a, b, c] = await Promise.all(calls.map(async ({ reply }) => taskIdOf(await reply)));
  const ended = async (taskId = ''): Promise<void> =>
    soon(async () => (await taskOf(hub, taskId))['status']).toBe('completed');
  server.end('a');
  await ended(a);
  expect((await open())[0]).not.toHaveProperty('taskId');
  server.end('c');
  await ended(c);
  expect(await open()).toMatchObject([{ message: 'of b', taskId: b }]);
  // So it is over with its call.
  server.end('b');
  await ended(b);
  expect(await open()).toEqual([]);
});

test('H-3: a question beside a resource read is attributed to the call when the read has ended', async () => {
  const { server, hub, begin, open } = await stage();
  const reading = hub.call('read_resource', { server: 'one', uri: 'test://slow' });
  await server.begun('test://slow');
  const a = await begin('a');
  server.ask('a', 'of a');
  const taskId = taskIdOf(await a.reply);
  expect((await open())[0]).not.toHaveProperty('taskId');
  server.end('test://slow');
  expect((await reading).raw.content[0]).toMatchObject({ resource: { text: 'content of test://slow' } });
  await soon(open).toMatchObject([{ message: 'of a', taskId }]);
  server.end('a');
  await soon(open).toEqual([]);
});

test('H-3: a question ends when all calls and reads that may have asked it have ended', async () => {
  const { server, hub, begin, open } = await stage();
  const reading = hub.call('read_resource', { server: 'one', uri: 'test://slow' });
  await server.begun('test://slow');
  const a = await begin('a');
  server.ask('a', 'of a', ['a']);
  await a.reply;
  expect(await open()).toHaveLength(1);
  server.end('test://slow');
  await reading;
  await soon(open).toEqual([]);
  expect(await server.answer('of a')).toHaveProperty('error');
});

test('H-3: a question is attributed to a call when the other call ended without a task', async () => {
  const { server, begin, open } = await stage();
  const [a, b] = [await begin('a'), await begin('b')];
  // In one breath: the question is read before the end of the other call.
  server.ask('b', 'of b', ['a']);
  await a.reply;
  const promoted = await b.reply;
  expect(await open()).toMatchObject([{ message: 'of b', taskId: taskIdOf(promoted) }]);
});

test('H-3: a call that starts after a question does not wait for that question', async () => {
  const { server, hub, begin } = await stage();
  const calls = [await begin('a'), await begin('b')];
  server.ask('a', 'of a');
  const promoted = await Promise.all(calls.map(async ({ reply }) => reply));
  const later = await begin('later');
  server.ask('a', 'again of a');
  // Now it may have asked; but the first question is none of its own.
  const reply = await later.reply;
  expect(reply.elicitations.map(({ message }) => message)).toEqual(['of a', 'again of a']);
  const [first, second] = reply.elicitations;
  await accept(hub, second?.requestId);
  server.end('later');
  expect((await hub.call('get_task_result', { task_id: taskIdOf(reply) })).text).toBe('end of later');
  await accept(hub, first?.requestId);
  for (const name of ['a', 'b']) server.end(name);
  expect(await results(hub, promoted)).toEqual(['end of a', 'end of b']);
});

test('H-3: a call that starts after a question gets its result while the question is open', async () => {
  const { server, begin, open } = await stage();
  const calls = [await begin('a'), await begin('b')];
  server.ask('a', 'of a');
  await Promise.all(calls.map(async ({ reply }) => reply));
  const later = await begin('later');
  server.end('later');
  expect((await later.reply).text).toBe('end of later');
  expect(await open()).toHaveLength(1);
});

test('H-3: a question makes a call beside an existing task a task, too', async () => {
  const { server, hub, begin, open } = await stage();
  const early = await (await begin('early', { timeout_ms: 50 })).reply;
  expect(early.text).toContain('exceeded timeout');
  const fresh = await begin('fresh');
  server.ask('early', 'of early');
  const promoted = await fresh.reply;
  expect(promoted.text).toMatch(/^The call needs input/);
  expect(promoted.elicitations).toMatchObject([{ message: 'of early' }]);
  // The other way round, too: the model waits for the task that has asked.
  const state = await hub.call('get_task_result', { task_id: taskIdOf(early) });
  expect(state.body).toMatchObject({ task: { status: 'working' } });
  expect(state.elicitations).toHaveLength(1);
  await accept(hub, promoted.elicitations[0]?.requestId);
  expect(await open()).toEqual([]);
  for (const name of ['early', 'fresh']) server.end(name);
  expect(await results(hub, [early, promoted])).toEqual(['end of early', 'end of fresh']);
});

test('H-3, H-6: get_task_result of each of two tasks shows a question that may belong to it', async () => {
  const { server, hub, begin } = await stage();
  const [a, b] = [await begin('a', { timeout_ms: 50 }), await begin('b', { timeout_ms: 50 })];
  const promoted = [await a.reply, await b.reply];
  const waiting = promoted.map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) }));
  server.ask('b', 'of b');
  for (const state of await Promise.all(waiting)) {
    expect(state.body).toMatchObject({ task: { status: 'working' }, pending_elicitations_for_server: [{}] });
    expect(state.elicitations).toMatchObject([{ message: 'of b' }]);
  }
});

test('T-3, H-3: a question pauses the TTL of all tasks that may have asked it, until it ends', async () => {
  const { server, hub, begin } = await stage();
  const ttl = { task_ttl_ms: 400 };
  const calls = [await begin('a', ttl), await begin('b', ttl)];
  server.ask('b', 'of b');
  const promoted = await Promise.all(calls.map(async ({ reply }) => reply));
  // One that nothing holds up tells when the time of the others would be over.
  const other = await (await begin('other', { task_ttl_ms: 800, timeout_ms: 0 })).reply;
  expect((await hub.call('get_task_result', { task_id: taskIdOf(other) })).code).toBe('TOOL_ERR_TIMEOUT');
  for (const reply of promoted) expect(await taskOf(hub, taskIdOf(reply))).toMatchObject({ status: 'working' });
  await accept(hub, promoted[0]?.elicitations[0]?.requestId);
  const ends = await Promise.all(
    promoted.map(async (reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })),
  );
  expect(ends.map(({ code }) => code)).toEqual(['TOOL_ERR_TIMEOUT', 'TOOL_ERR_TIMEOUT']);
});

test('T-3, H-3: an expired question releases all tasks that may have asked it', async () => {
  const { server, hub, begin, open } = await stage({ questions: { timeoutMs: 300 } });
  const calls = [await begin('a'), await begin('b')];
  server.ask('b', 'of b');
  const promoted = await Promise.all(calls.map(async ({ reply }) => reply));
  await soon(open).toEqual([]);
  expect(await server.answer('of b')).toHaveProperty('error');
  // They can be waited for again.
  for (const name of ['a', 'b']) server.end(name);
  expect(await results(hub, promoted)).toEqual(['end of a', 'end of b']);
});

test('H-3, H-6: cancelling one of two candidate calls leaves the question to the other', async () => {
  const { server, hub, begin, open } = await stage();
  const calls = [await begin('a'), await begin('b')];
  server.ask('b', 'of b');
  const [a, b] = await Promise.all(calls.map(async ({ reply }) => taskIdOf(await reply)));
  expect((await hub.call('cancel_task', { task_id: a })).body).toMatchObject({ success: true });
  await soon(open).toMatchObject([{ message: 'of b', taskId: b }]);
  const [question] = await open();
  await accept(hub, question?.['requestId']);
  server.end('b');
  expect((await hub.call('get_task_result', { task_id: b })).text).toBe('end of b');
});

test('H-3: a question ends with the last call that may have asked it', async () => {
  const { server, begin, open } = await stage();
  const calls = [await begin('a'), await begin('b')];
  server.ask('b', 'of one of them', ['a', 'b']);
  await Promise.all(calls.map(async ({ reply }) => reply));
  expect(await server.answer('of one of them')).toMatchObject({
    error: { message: expect.stringContaining('the call has ended') as string },
  });
  expect(await open()).toEqual([]);
});

test('H-3, H-7: await_activity reports a question of one of two tasks', async () => {
  const { server, hub, begin } = await stage();
  const calls = [await begin('a', { timeout_ms: 50 }), await begin('b', { timeout_ms: 50 })];
  await Promise.all(calls.map(async ({ reply }) => reply));
  await hub.call('list_tasks');
  const waiting = eventsUntil(hub, has('elicitation_request'));
  server.ask('b', 'of b');
  expect((await waiting).map(({ type }) => type)).toContain('elicitation_request');
  expect(await tasksOf(hub)).toMatchObject([{ status: 'working' }, { status: 'working' }]);
});
