import { expect, test } from 'vitest';
import type { Session } from '../../../../src/core/session/session.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, TASKS, type Round } from '../modern-wire.ts';
import { puppet, TOOL } from './puppet.ts';

test('D-4: answers to several questions that are sent three times at once are acknowledged three times', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config }, { direct: { taskAfterMs: 50 } });
  const wire = new ModernWire(`${url}/one`);
  const { taskId } = await wire.call(TOOL, { name: 'a' });
  await server.begun('a');
  const messages = ['first', 'second', 'third'];
  for (const message of messages) server.ask('a', message);
  const asked = async (): Promise<string[]> => {
    const { inputRequests = {} } = (await wire.request('tasks/get', { taskId })) as Partial<Round>;
    return Object.keys(inputRequests);
  };
  await soon(async () => (await asked()).length).toBe(3);
  const inputResponses = Object.fromEntries((await asked()).map((key) => [key, { action: 'decline' }]));
  const updates = messages.map(async () => wire.error('tasks/update', { taskId, inputResponses }));
  expect(await Promise.all(updates)).toEqual([undefined, undefined, undefined]);
  for (const message of messages) expect(await server.answer(message)).toMatchObject({ result: { action: 'decline' } });
});

test('T-2, D-4: the TTL does not end a call that asked a question while its client waits for it', async () => {
  const server = await puppet();
  const settings = { tasks: { ttlMs: 300 }, direct: { taskAfterMs: 50 } };
  const { url } = await httpGateway({ one: server.config }, settings);
  const wire = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const asked = wire.ask(TOOL, { name: 'a' });
  await server.begun('a');
  server.ask('a', 'Sure?');
  const round = await asked;
  const { requestState } = round;
  const inputResponses = { [onlyQuestion(round).key]: accept({}) };
  const result = wire.call(TOOL, { name: 'a' }, { requestState, inputResponses });
  await server.answer('Sure?');
  // One that nobody waits for begins later, and is over sooner.
  const other = wire.as(TASKS);
  const { taskId } = await other.call(TOOL, { name: 'b' });
  await other.task(taskId, 'failed');
  server.end('a');
  expect(textOf(await result)).toBe('end of a');
});

/** How many watch the tasks of a session from now on. */
function watchers({ tasks }: Session): () => number {
  let count = 0;
  const watch = tasks.watch.bind(tasks);
  tasks.watch = (watcher) => {
    count += 1;
    const stop = watch(watcher);
    return () => {
      count -= 1;
      stop();
    };
  };
  return () => count;
}

test('D-3, T-7: a client that takes over a task that has ended registers no progress listener', async () => {
  const server = await puppet();
  const { url, gateway } = await httpGateway({ one: server.config });
  const wire = await LegacyWire.open(`${url}/one`);
  const stream = await wire.callStream(TOOL, { name: 'a' });
  await server.begun('a');
  stream.drop();
  const [session] = gateway.sessions;
  await soon(() => session?.tasks.list()).toMatchObject([{ abandoned: true }]);
  server.end('a');
  await soon(() => session?.tasks.list()).toMatchObject([{ status: 'completed' }]);
  const count = session && watchers(session);
  const { task } = await wire.call(TOOL, { name: 'a' }, { task: {}, _meta: { progressToken: 'mine' } });
  expect(task).toMatchObject({ status: 'completed' });
  expect(count?.()).toBe(0);
  expect(server.calls).toEqual(['a']);
});
