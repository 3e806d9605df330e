import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { WAYS } from '../flows/doors.ts';
import { settle, tasksOf } from '../flows/watch.ts';
import { askableThrough } from './clients.ts';

const ASK = { server: 'one', tool: 'ask' };

test.each(WAYS)('H-13: the client answers a question, and the reply is only the result ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } });
  await settle(hub);
  const call = hub.call('execute_tool', ASK);
  const asked = await hub.person.question();
  expect(asked).toMatchObject({
    method: 'elicitation/create',
    params: { message: 'What is your name?', requestedSchema: { required: ['name'] } },
  });
  asked.answer({ action: 'accept', content: { name: 'Ida' } });
  const reply = await call;
  // No task, and no word of a question that has been answered.
  expect(reply.raw.content).toEqual([{ type: 'text', text: 'Hello Ida' }]);
  expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  const next = await hub.call('list_tasks', { include_completed: true });
  expect(next.body).toEqual({ tasks: [] });
  expect(next.events).toEqual([]);
  expect(server.state.calls.filter(({ tool }) => tool === 'ask')).toHaveLength(1);
});

const SERVERS: { by: string; start: () => Promise<ServerConfig> }[] = [
  { by: 'pushing, over stdio', start: async () => v1Stdio() },
  { by: 'in rounds', start: async () => ({ url: owned(await startV2Http({ era: 'modern' })).url }) },
  { by: 'as a task of 2025-11-25', start: async () => ({ url: owned(await startTasksV1Http()).url }) },
  { by: 'as a task of the extension', start: async () => ({ url: owned(await startTasksV2Http()).url }) },
];

test.each(SERVERS.flatMap((server) => (['v1', 'modern'] as const).map((kind) => ({ ...server, kind }))))(
  'H-13: the client answers two questions in turn from a server that asks $by ($kind)',
  async ({ kind, start }) => {
    const hub = await askableThrough({ door: 'http', kind }, { one: await start() });
    await settle(hub);
    const call = hub.call('execute_tool', { server: 'one', tool: 'ask_twice' });
    await hub.person.accepts({ name: 'Kim' }, 0);
    await hub.person.accepts({ age: 33 }, 1);
    const { text, raw } = await call;
    expect(text).toBe('Hello Kim, 33');
    expect(raw.content).toHaveLength(1);
    expect(await tasksOf(hub)).toEqual([]);
    expect(hub.person.asked).toHaveLength(2);
  },
);

test.each(['v1', 'modern'] as const)('H-13: the client answers two parallel questions (%s)', async (kind) => {
  const server = owned(await startTasksV2Http());
  const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } });
  const call = hub.call('execute_tool', { server: 'one', tool: 'ask_both' });
  await hub.person.question(1);
  for (const { params, answer } of hub.person.asked) {
    const content = params['message'] === 'How old are you?' ? { age: 7 } : { name: 'Lou' };
    answer({ action: 'accept', content });
  }
  expect((await call).text).toBe('Hello Lou, 7');
});

test.each(WAYS)('H-13: the client answers a sampling request ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } });
  const call = hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  const { method, params, answer } = await hub.person.question();
  expect(method).toBe('sampling/createMessage');
  expect(params).toMatchObject({ maxTokens: 64, messages: [{ content: { text: 'Say hi' } }] });
  const given = { role: 'assistant', model: 'small', content: { type: 'text', text: 'hi' }, stopReason: 'endTurn' };
  answer(given);
  expect(JSON.parse((await call).text)).toEqual(given);
});
