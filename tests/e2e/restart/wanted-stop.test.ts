import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { beginAsking, beginNative, killable } from './killable.ts';

const START = { core: startTasksV1Http, ext: startTasksV2Http, rounds: () => startV2Http({ era: 'modern' }) };

test.each(['core', 'ext', 'rounds'] as const)(
  'P-1, P-2, S-4: a question that is open at a stop can be answered after the next start: %s',
  async (kind) => {
    const server = owned(await START[kind]());
    const gateway = await killable({ far: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'far', 'ask');
    const [asked] = reply.elicitations;
    expect(await gateway.stop()).toBe(0);
    await gateway.start();
    const { elicitations } = await session.reply('list_tasks');
    expect(elicitations).toEqual([asked]);
    const answer = { request_id: asked?.requestId, action: 'accept', content: { name: 'Ada' } };
    expect((await session.reply('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
    expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 })).text).toBe('Hello Ada');
  },
);

test.each(['core', 'ext'] as const)('P-2, B-3: a native task continues after a stop and a start: %s', async (kind) => {
  const server = owned(await START[kind]());
  const gateway = await killable({ far: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { id } = await beginNative(gateway, session, 'far', 'hold', { text: 'the truth' });
  expect(await gateway.stop()).toBe(0);
  expect(server.state.cancelled).toEqual([]);
  await gateway.start();
  server.state.release();
  const { text, events } = await session.reply('get_task_result', { task_id: id });
  expect(text).toBe('the truth');
  expect(events.filter(({ type }) => type === 'task_failed')).toEqual([]);
});
