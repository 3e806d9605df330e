/** Questions that nothing ties to one of several calls, for clients that can themselves be asked. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { puppet, TOOL, type Puppet } from '../direct/regressions/puppet.ts';
import { WAYS } from '../flows/doors.ts';
import { settle, soon, tasksOf } from '../flows/watch.ts';
import { askableOverHttp, askableThrough, type AskableHub } from './clients.ts';

const NEVER = 600_000;
const KINDS = ['v1', 'v2', 'modern'] as const;
const LEGACY = ['v1', 'v2'] as const;

const call = (hub: AskableHub, tool: string, args: Json = {}, more: Json = {}): Promise<Reply> =>
  hub.call('execute_tool', { server: 'one', tool, args, timeout_ms: NEVER, ...more }, { timeout: NEVER });

/** The person answers each question once, with the name that is in it. */
async function answerAll({ person }: AskableHub, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const { params, answer } = await person.question(number);
    answer({ action: 'accept', content: { name: String(params['message']).replace('Are you ', '') } });
  }
}

test.each(WAYS)(
  'H-3, H-13: the client is asked the questions of parallel calls at once ($door, $kind)',
  async (way) => {
    const hub = await askableThrough(way, { one: v1Stdio() });
    await settle(hub);
    const names = ['Ada', 'Ben', 'Cleo'];
    const calls = names.map((name) => call(hub, 'ask', { message: `Are you ${name}` }));
    await answerAll(hub, 3);
    const replies = await Promise.all(calls);
    expect(replies.map(({ text }) => text)).toEqual(names.map((name) => `Hello ${name}`));
    expect(hub.person.asked).toHaveLength(3);
    expect(await tasksOf(hub)).toEqual([]);
  },
);

const SERVERS: { name: string; ask: string; start: () => Promise<Servers[string]> }[] = [
  { name: 'over stdio', ask: 'ask', start: async () => v1Stdio() },
  {
    name: 'on its standing stream',
    ask: 'ask_detached',
    start: async () => ({ url: owned(await startV1Http()).url }),
  },
];

test.each(SERVERS.flatMap((server) => KINDS.map((kind) => ({ ...server, kind }))))(
  'H-3, H-13: a slow call beside a call with a question both return results ($name, $kind)',
  async ({ ask, start, kind }) => {
    const { url, gateway } = await httpGateway({ one: await start() });
    const hub = await askableOverHttp(url, kind);
    await settle(hub);
    const slow = call(hub, 'slow', { ms: 1500, text: 'slow is done' });
    await soon(() => gateway.sessions[0]?.calls.size).toBe(1);
    const asking = call(hub, ask);
    await hub.person.accepts({ name: 'Di' });
    expect((await asking).text).toBe('Hello Di');
    expect((await slow).raw.content).toEqual([{ type: 'text', text: 'slow is done' }]);
    expect(hub.person.asked).toHaveLength(1);
    expect(await tasksOf(hub)).toEqual([]);
  },
);

interface Stage {
  server: Puppet;
  hub: AskableHub;
  /** How many calls have not ended. */
  open: () => number | undefined;
  begin: (name: string, more?: Json) => Promise<{ reply: Promise<Reply> }>;
}

async function stage(kind: (typeof KINDS)[number], settings: Json = {}): Promise<Stage> {
  const server = await puppet();
  const { url, gateway } = await httpGateway({ one: server.config }, settings);
  const hub = await askableOverHttp(url, kind);
  await hub.call('list_tools', { server: 'one' });
  const open = (): number | undefined => gateway.sessions[0]?.calls.size;
  const begin = async (name: string, more: Json = {}): Promise<{ reply: Promise<Reply> }> => {
    const reply = call(hub, TOOL, { name }, more);
    await server.begun(name);
    return { reply };
  };
  return { server, hub, open, begin };
}

test.each(KINDS)(
  'H-3, H-13: an open question stays with the client when one of the candidate calls ends (%s)',
  async (kind) => {
    for (const ends of ['a', 'b'] as const) {
      const { server, hub, open, begin } = await stage(kind);
      const calls = { a: await begin('a'), b: await begin('b') };
      server.ask('b', 'of one of them');
      const asked = await hub.person.question();
      server.end(ends);
      await soon(open).toBe(1);
      const other = ends === 'a' ? 'b' : 'a';
      // Only a reply to the other call could ask again, and for that it would become a task.
      if (ends === 'a') expect(await tasksOf(hub, {})).toEqual([]);
      if (kind !== 'modern') {
        expect((await calls[ends].reply).text).toBe(`end of ${ends}`);
        expect(asked.withdrawn.aborted).toBe(false);
      }
      asked.answer({ action: 'accept', content: {} });
      expect(await server.answer('of one of them')).toMatchObject({ result: { action: 'accept' } });
      server.end(other);
      expect((await calls[ends].reply).text).toBe(`end of ${ends}`);
      expect((await calls[other].reply).text).toBe(`end of ${other}`);
      expect(hub.person.asked).toHaveLength(1);
      await hub.close();
    }
  },
);

test.each(LEGACY)(
  'H-3, H-13: when a client cancels one candidate call, the other carries the question (%s)',
  async (kind) => {
    const { server, hub } = await stage(kind);
    const stop = new AbortController();
    const begin = async (name: string, signal?: AbortSignal): Promise<{ reply: Promise<Reply> }> => {
      const args = { server: 'one', tool: TOOL, args: { name }, timeout_ms: NEVER };
      const reply = hub.call('execute_tool', args, { timeout: NEVER, ...(signal && { signal }) });
      await server.begun(name);
      return { reply };
    };
    // The client is asked on the call that was there first.
    const a = await begin('a', stop.signal);
    const b = await begin('b');
    server.ask('b', 'of b');
    const first = await hub.person.question();
    stop.abort('changed my mind');
    await expect(a.reply).rejects.toThrow();
    await soon(() => first.withdrawn.aborted).toBe(true);
    (await hub.person.question(1)).answer({ action: 'accept', content: {} });
    expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
    server.end('b');
    expect((await b.reply).text).toBe('end of b');
  },
);

test('H-3, H-13: calls that wait after a round are asked when both may have asked', async () => {
  const { server, hub, begin } = await stage('modern');
  const calls = { a: await begin('a'), b: await begin('b') };
  for (const [number, name] of ['a', 'b'].entries()) {
    server.ask(name, `first of ${name}`);
    (await hub.person.question(number)).answer({ action: 'accept', content: {} });
    await server.answer(`first of ${name}`);
  }
  server.ask('b', 'second of b');
  (await hub.person.question(2)).answer({ action: 'accept', content: {} });
  expect(await server.answer('second of b')).toMatchObject({ result: { action: 'accept' } });
  for (const name of ['a', 'b']) server.end(name);
  expect((await calls.a.reply).text).toBe('end of a');
  expect((await calls.b.reply).text).toBe('end of b');
  expect(hub.person.asked).toHaveLength(3);
});

test.each(KINDS)('H-3, H-13: a new call carries the question of an earlier task (%s)', async (kind) => {
  const { server, hub, begin } = await stage(kind);
  const early = await (await begin('early', { timeout_ms: 50 })).reply;
  const fresh = await begin('fresh');
  server.ask('early', 'of early');
  (await hub.person.question()).answer({ action: 'accept', content: {} });
  expect(await server.answer('of early')).toMatchObject({ result: { action: 'accept' } });
  for (const name of ['early', 'fresh']) server.end(name);
  expect((await fresh.reply).text).toBe('end of fresh');
  expect((await hub.call('get_task_result', { task_id: taskIdOf(early) })).text).toBe('end of early');
});

test.each(KINDS)(
  'H-3, H-13: the question belongs to the task when it is the only candidate left (%s)',
  async (kind) => {
    const { server, hub, begin } = await stage(kind);
    const early = await (await begin('early', { timeout_ms: 50 })).reply;
    const fresh = await begin('fresh');
    server.ask('early', 'of early');
    const asked = await hub.person.question();
    const questions = async (): Promise<Reply['elicitations']> => (await hub.call('get_elicitations')).elicitations;
    expect(await questions()).not.toMatchObject([{ taskId: taskIdOf(early) }]);
    server.end('fresh');
    await soon(questions).toMatchObject([{ message: 'of early', taskId: taskIdOf(early) }]);
    if (kind === 'modern') asked.answer({ action: 'accept', content: {} });
    else {
      await soon(() => asked.withdrawn.aborted).toBe(true);
      const [{ requestId } = {}] = await questions();
      await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: {} });
    }
    expect(await server.answer('of early')).toMatchObject({ result: { action: 'accept' } });
    expect((await fresh.reply).text).toBe('end of fresh');
    server.end('early');
    expect((await hub.call('get_task_result', { task_id: taskIdOf(early) })).text).toBe('end of early');
  },
);

test.each(KINDS)('H-3, H-13: the hub tools can answer a question that the client also has (%s)', async (kind) => {
  const { server, hub, begin } = await stage(kind);
  const calls = { a: await begin('a'), b: await begin('b') };
  server.ask('b', 'of b');
  const asked = await hub.person.question();
  const { elicitations } = await hub.call('get_elicitations');
  expect(elicitations).toMatchObject([{ message: 'of b' }]);
  const answer = { request_id: elicitations[0]?.requestId, action: 'accept', content: {} };
  await hub.call('respond_to_elicitation', answer);
  expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
  if (kind === 'modern') asked.answer({ action: 'decline' });
  else await soon(() => asked.withdrawn.aborted).toBe(true);
  for (const name of ['a', 'b']) server.end(name);
  expect((await calls.a.reply).text).toBe('end of a');
  expect((await calls.b.reply).text).toBe('end of b');
});

test.each(KINDS)(
  'H-3, H-13: with `tools` all candidate calls become tasks, and the client is not asked (%s)',
  async (kind) => {
    const { server, hub, begin } = await stage(kind, { questions: { via: 'tools' } });
    const calls = [await begin('a'), await begin('b')];
    server.ask('b', 'of b');
    for (const { reply } of calls) expect((await reply).elicitations).toMatchObject([{ message: 'of b' }]);
    expect(hub.person.asked).toEqual([]);
  },
);

test.each(KINDS)('H-3, H-13: with `native` the hub does not show a question that the client has (%s)', async (kind) => {
  const { server, hub, begin } = await stage(kind, { questions: { via: 'native' } });
  const calls = { a: await begin('a'), b: await begin('b') };
  server.ask('b', 'of b');
  const asked = await hub.person.question();
  const listed = await hub.call('get_elicitations');
  expect(listed.body).toEqual({ elicitations: [] });
  expect(listed.events.map(({ type }) => type)).not.toContain('elicitation_request');
  asked.answer({ action: 'accept', content: {} });
  await server.answer('of b');
  for (const name of ['a', 'b']) server.end(name);
  expect((await calls.a.reply).text).toBe('end of a');
  expect((await calls.b.reply).text).toBe('end of b');
});

test.each(KINDS)(
  'H-3, H-13: a question of a kind that the client did not declare makes all its calls tasks (%s)',
  async (kind) => {
    const { url, gateway } = await httpGateway({ one: v1Stdio() });
    const hub = await askableOverHttp(url, kind, { sampling: {} });
    await settle(hub);
    const slow = call(hub, 'slow', { ms: NEVER });
    await soon(() => gateway.sessions[0]?.calls.size).toBe(1);
    const promoted = await Promise.all([slow, call(hub, 'ask')]);
    for (const reply of promoted) expect(reply.elicitations).toMatchObject([{ message: 'What is your name?' }]);
    expect(hub.person.asked).toEqual([]);
  },
);
