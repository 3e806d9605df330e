import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { WAYS } from '../flows/doors.ts';
import { awaitActivity, eventsUntil, flat, has, settle, soon } from '../flows/watch.ts';
import { askableThrough, withSecondDoor } from './clients.ts';

const ASK = { server: 'one', tool: 'ask' };
const KINDS = ['v1', 'v2', 'modern'] as const;
const only = (via: 'tools' | 'native'): Record<string, unknown> => ({ questions: { via } });

/** Nothing a client of the hub can see tells of a question. */
async function expectNoQuestion(hub: HubClient): Promise<void> {
  for (const [tool, args] of [
    ['get_elicitations', {}],
    ['get_sampling_requests', {}],
    ['get_server_status', { server: 'one' }],
    ['list_tasks', {}],
  ] as const) {
    const reply = await hub.call(tool, args);
    expect(reply.elicitations, tool).toEqual([]);
    expect(reply.samplings, tool).toEqual([]);
    expect(reply.events.map(({ type }) => type).filter((type) => /elicitation|sampling/.test(type))).toEqual([]);
    expect(JSON.stringify(reply.raw), tool).not.toContain('What is your name?');
  }
  const activity = await awaitActivity(hub, { timeout_ms: 200 });
  expect(activity.pending_client).toEqual({ elicitations: [], sampling_requests: [] });
  expect(flat(activity)).toEqual([]);
}

test.each(WAYS)('H-13: with `tools` questions are asked only by hub tools ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } }, only('tools'));
  const promoted = await hub.call('execute_tool', ASK);
  expect(promoted.text).toMatch(/^The call needs input/);
  const [{ requestId } = { requestId: '' }] = promoted.elicitations;
  await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Qi' } });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Qi');
  expect(hub.person.asked).toEqual([]);
});

test.each(KINDS)('H-13: with `native` other clients do not see a question that the client has (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { hub, other } = await withSecondDoor(kind, { one: { url: server.url } }, only('native'));
  await settle(hub);
  const call = hub.call('execute_tool', ASK);
  await hub.person.question();
  await expectNoQuestion(other);
  await hub.person.accepts({ name: 'Ria' });
  expect((await call).raw.content).toEqual([{ type: 'text', text: 'Hello Ria' }]);
});

test.each(WAYS)(
  'H-13: with `native` a question appears at the hub when its client stops waiting ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } }, only('native'));
    await settle(hub);
    const call = hub.call('execute_tool', { ...ASK, timeout_ms: 700 });
    const asked = await hub.person.question();
    const { elicitations } = await hub.call('get_elicitations');
    expect(elicitations).toEqual([]);
    if (way.kind === 'modern') {
      await eventsUntil(hub, has('elicitation_request'));
    } else {
      const promoted = await call;
      expect(promoted.text).toMatch(/^Tool call exceeded timeout/);
      expect(promoted.elicitations).toHaveLength(1);
      expect(promoted.body['pending_on_server']).toMatchObject({ elicitations_for_server: [{ server: 'one' }] });
      expect(asked.withdrawn.aborted).toBe(true);
    }
    const open = await hub.call('get_elicitations');
    const [{ requestId, taskId } = { requestId: '' }] = open.elicitations;
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Sam' } });
    if (way.kind === 'modern') {
      asked.answer({ action: 'accept', content: { name: 'too late' } });
      expect((await call).text).toBe('Hello Sam');
    } else expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Sam');
  },
);

test('H-13: with `native` a late answer in a round counts if no other answer came first', async () => {
  const server = owned(await startV1Http());
  const { hub, other } = await withSecondDoor('modern', { one: { url: server.url } }, only('native'));
  await settle(hub);
  const call = hub.call('execute_tool', { server: 'one', tool: 'ask_twice', timeout_ms: 500 });
  await hub.person.question();
  await soon(async () => (await other.call('get_elicitations')).elicitations).toHaveLength(1);
  await hub.person.accepts({ name: 'Tor' });
  await hub.person.question(1);
  // The second round is before the person again, and before nobody else.
  expect((await other.call('get_elicitations')).elicitations).toEqual([]);
  await hub.person.accepts({ age: 5 }, 1);
  expect((await call).text).toBe('Hello Tor, 5');
});

test.each(['native', 'both'] as const)(
  'H-13: with `%s` a client without capabilities is asked by hub tools',
  async (via) => {
    const server = owned(await startV1Http());
    for (const kind of KINDS) {
      const hub = await askableThrough(
        { door: 'http', kind },
        { one: { url: server.url } },
        { questions: { via } },
        {},
      );
      const promoted = await hub.call('execute_tool', ASK);
      expect(promoted.elicitations, kind).toMatchObject([{ message: 'What is your name?' }]);
    }
  },
);

test.each(KINDS)('H-13: a client is not asked for kinds that it did not declare (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const way = { door: 'http', kind } as const;
  const sampler = await askableThrough(way, { one: { url: server.url } }, {}, { sampling: {} });
  const question = await sampler.call('execute_tool', ASK);
  expect(question.elicitations).toMatchObject([{ message: 'What is your name?' }]);
  const forms = await askableThrough(way, { one: { url: server.url } }, {}, { elicitation: { form: {} } });
  expect((await forms.call('execute_tool', { server: 'one', tool: 'ask_url' })).elicitations).toHaveLength(1);
  const tools = await askableThrough(way, { one: { url: server.url } }, {}, { sampling: {} });
  expect((await tools.call('execute_tool', { server: 'one', tool: 'sample_tools' })).samplings).toHaveLength(1);
  expect([...sampler.person.asked, ...forms.person.asked, ...tools.person.asked]).toEqual([]);
});
