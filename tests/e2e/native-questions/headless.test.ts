/** Clients without a person in front of them answer what they are asked at once: the question is then left to the tools. */
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { owned } from '../../support/owned.ts';
import { textOf } from '../direct/answered.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { puppet, TOOL } from '../direct/regressions/puppet.ts';
import { WAYS } from '../flows/doors.ts';
import { settle, soon, tasksOf } from '../flows/watch.ts';
import { askableOverHttp, askableThrough, type AskableHub } from './clients.ts';

const ASK = { server: 'one', tool: 'ask' };
const KINDS = ['v1', 'v2', 'modern'] as const;
const ACTIONS = ['cancel', 'decline'] as const;

/** Answers each question at once, as a program does. */
async function headless({ person }: AskableHub, action: string, count = 1): Promise<void> {
  for (let number = 0; number < count; number += 1) (await person.question(number)).answer({ action });
}

async function answer(hub: AskableHub, { elicitations }: Reply, content: Json): Promise<void> {
  const args = { request_id: elicitations[0]?.requestId, action: 'accept', content };
  expect((await hub.call('respond_to_elicitation', args)).body).toMatchObject({ success: true });
}

test.each(WAYS.flatMap((way) => ACTIONS.map((action) => ({ ...way, action }))))(
  'H-13: after a $action without a person the question goes to the hub tools ($door, $kind)',
  async ({ action, ...way }) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    await settle(hub);
    const call = hub.call('execute_tool', { ...ASK, timeout_ms: 600_000 });
    await headless(hub, action);
    const promoted = await call;
    expect(promoted.text).toMatch(/^The call needs input/);
    expect(promoted.elicitations).toMatchObject([{ message: 'What is your name?', taskId: taskIdOf(promoted) }]);
    await answer(hub, promoted, { name: 'Ada' });
    expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Ada');
    expect(hub.person.asked).toHaveLength(1);
  },
);

test.each(KINDS)('H-13: a decline after questions.minDeclineMs counts as the answer (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const clock = new JumpingClock();
  const settings = { questions: { minDeclineMs: 10_000 } };
  const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } }, settings, undefined, clock);
  const call = hub.call('execute_tool', ASK);
  const asked = await hub.person.question();
  clock.jump(settings.questions.minDeclineMs);
  asked.answer({ action: 'decline' });
  expect((await call).text).toBe('declined');
  expect(await tasksOf(hub)).toEqual([]);
});

test.each(KINDS)('H-13: with `questions.minDeclineMs: 0` every decline counts as the answer (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const settings = { questions: { minDeclineMs: 0 } };
  const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } }, settings);
  const call = hub.call('execute_tool', ASK);
  await headless(hub, 'decline');
  expect((await call).text).toBe('declined');
});

test.each(KINDS.flatMap((kind) => ACTIONS.map((action) => ({ kind, action }))))(
  'H-13: with `native` a $action counts as the answer ($kind)',
  async ({ kind, action }) => {
    const server = owned(await startV1Http());
    const settings = { questions: { via: 'native' } };
    const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } }, settings);
    const call = hub.call('execute_tool', ASK);
    await headless(hub, action);
    expect((await call).text).toBe(action === 'decline' ? 'declined' : 'cancelled');
  },
);

test.each(KINDS)(
  'H-13: after a headless cancel, every question of the call goes to the hub tools (%s)',
  async (kind) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } });
    const call = hub.call('execute_tool', { server: 'one', tool: 'ask_twice' });
    await headless(hub, 'cancel');
    const promoted = await call;
    await answer(hub, promoted, { name: 'Ben' });
    const open = async (): Promise<Reply> => hub.call('get_elicitations');
    await soon(async () => (await open()).elicitations).toMatchObject([{ message: 'How old are you?' }]);
    await answer(hub, await open(), { age: 9 });
    expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Ben, 9');
  },
);

test.each(['v1', 'modern'] as const)(
  'H-13: the client answers one of two parallel questions, and the hub tools the other (%s)',
  async (kind) => {
    const server = owned(await startTasksV2Http());
    const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } });
    const call = hub.call('execute_tool', { server: 'one', tool: 'ask_both' });
    await hub.person.question(1);
    for (const { params, answer: reply } of hub.person.asked) {
      const name = params['message'] === 'What is your name?';
      reply(name ? { action: 'accept', content: { name: 'Cleo' } } : { action: 'cancel' });
    }
    const promoted = await call;
    await soon(async () => (await hub.call('get_elicitations')).elicitations).toMatchObject([
      { message: 'How old are you?' },
    ]);
    await answer(hub, await hub.call('get_elicitations'), { age: 7 });
    expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Cleo, 7');
  },
);

test.each(KINDS)('H-3, H-13: all calls that may have asked a question become tasks (%s)', async (kind) => {
  const server = await puppet();
  const hub = await askableOverHttp((await httpGateway({ one: server.config })).url, kind);
  await hub.call('list_tools', { server: 'one' });
  const begin = async (name: string): Promise<{ reply: Promise<Reply> }> => {
    const args = { server: 'one', tool: TOOL, args: { name }, timeout_ms: 600_000 };
    const reply = hub.call('execute_tool', args, { timeout: 600_000 });
    await server.begun(name);
    return { reply };
  };
  const calls = [await begin('a'), await begin('b')];
  server.ask('b', 'of b');
  await headless(hub, 'cancel');
  const promoted = await Promise.all(calls.map(async ({ reply }) => reply));
  for (const reply of promoted) expect(reply.elicitations).toMatchObject([{ message: 'of b' }]);
  const [first, second] = promoted.map(taskIdOf);
  await answer(hub, await hub.call('get_elicitations'), {});
  expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
  for (const name of ['a', 'b']) server.end(name);
  expect((await hub.call('get_task_result', { task_id: first })).text).toBe('end of a');
  expect((await hub.call('get_task_result', { task_id: second })).text).toBe('end of b');
  expect(hub.person.asked).toHaveLength(1);
});

test('H-3, H-13: calls that wait after a round become tasks when both may have asked', async () => {
  const server = await puppet();
  const hub = await askableOverHttp((await httpGateway({ one: server.config })).url, 'modern');
  await hub.call('list_tools', { server: 'one' });
  const calls: Promise<Reply>[] = [];
  for (const [number, name] of ['a', 'b'].entries()) {
    const args = { server: 'one', tool: TOOL, args: { name }, timeout_ms: 600_000 };
    calls.push(hub.call('execute_tool', args, { timeout: 600_000 }));
    await server.begun(name);
    server.ask(name, `first of ${name}`);
    (await hub.person.question(number)).answer({ action: 'accept', content: {} });
    await server.answer(`first of ${name}`);
  }
  server.ask('b', 'second of b');
  (await hub.person.question(2)).answer({ action: 'cancel' });
  for (const reply of await Promise.all(calls)) expect(reply.elicitations).toMatchObject([{ message: 'second of b' }]);
});

test('D-2, H-13: at the direct endpoint a cancel of the client reaches the server unchanged', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const wire = await LegacyWire.open(`${url}/one`);
  const call = await wire.callStream('ask');
  await call.answer(await call.heard('elicitation/create'), { action: 'cancel' });
  expect(textOf(await call.result())).toBe('cancelled');
});
