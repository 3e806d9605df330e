import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import { owned } from '../../../support/owned.ts';
import { killable, restart, rows } from '../../restart/killable.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS } from '../modern-wire.ts';

const FAST = { servers: { reconnect: { firstMs: 50, maxMs: 200 } }, direct: { taskAfterMs: 50 } };
const KEEPERS = { core: startTasksV1Http, ext: startTasksV2Http };

test.each(['core', 'ext'] as const)('P-2, D-4: the tasks of a modern client survive a restart: %s', async (kind) => {
  const server = owned(await KEEPERS[kind]());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const wire = new ModernWire(`${gateway.url}/far`);
  const done = await wire.call('slow', { ms: 200, text: 'done before' });
  await wire.task(done['taskId'], 'completed');
  const held = await wire.call('hold', { text: 'went on' });
  const asked = await wire.call('ask');
  await wire.task(asked['taskId'], 'input_required');
  await soon(() => rows(gateway.store, 'tasks').filter(({ checkpoint }) => checkpoint !== undefined)).toHaveLength(2);
  await restart(gateway);
  expect(await wire.request('tasks/get', { taskId: done['taskId'] })).toMatchObject({
    status: 'completed',
    result: { content: [{ text: 'done before' }] },
  });
  const listening = await wire.listen({ taskIds: [held['taskId']] });
  await soon(() => listening.told('notifications/tasks').at(-1)?.['status']).toBe('working');
  const { key } = onlyQuestion((await wire.task(asked['taskId'], 'input_required')) as never);
  const inputResponses = { [key]: accept({ name: 'Ada' }) };
  await wire.request('tasks/update', { taskId: asked['taskId'], inputResponses });
  expect(await wire.task(asked['taskId'], 'completed')).toMatchObject({
    result: { content: [{ text: 'Hello Ada' }] },
  });
  server.state.release();
  await soon(() => listening.told('notifications/tasks').at(-1)?.['status']).toBe('completed');
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(3);
});

// A core server of the v1 SDK may give its next question to the stream of the process that died.
test.each(['ext', 'rounds'] as const)('P-2, D-4: a request state stays valid after a restart: %s', async (kind) => {
  const start = { ext: startTasksV2Http, rounds: () => startV2Http({ era: 'modern' }) }[kind];
  const server = owned(await start());
  const gateway = await killable({ far: { url: server.url } }, FAST);
  const wire = new ModernWire(`${gateway.url}/far`, { capabilities: ROUNDS });
  let round = await wire.ask('ask_twice');
  for (const answer of [accept({ name: 'Ada' }), accept({ age: 36 })]) {
    await restart(gateway);
    const { key } = onlyQuestion(round);
    const { requestState } = round;
    round = (await wire.call('ask_twice', {}, { requestState, inputResponses: { [key]: answer } })) as typeof round;
  }
  expect(textOf(round)).toBe('Hello Ada, 36');
});

test('P-2, D-4: after a restart, the answer to a lost round gets an error that names the restart', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } }, FAST);
  const wire = new ModernWire(`${gateway.url}/plain`, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  await restart(gateway);
  const { key } = onlyQuestion(round);
  const { requestState } = round;
  const params = { name: 'ask', arguments: {}, requestState, inputResponses: { [key]: accept({ name: 'Ada' }) } };
  expect(await wire.error('tools/call', params)).toMatchObject({
    message: expect.stringContaining('gateway restarted'),
  });
  expect(server.state.calls).toHaveLength(1);
});

test('P-2, D-4: after a restart, a lost task has failed with an error that names the restart', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } }, FAST);
  const wire = new ModernWire(`${gateway.url}/plain`);
  const { taskId } = await wire.call('slow', { ms: 600_000 });
  await restart(gateway);
  expect(await wire.request('tasks/get', { taskId })).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('gateway restarted') },
  });
});
