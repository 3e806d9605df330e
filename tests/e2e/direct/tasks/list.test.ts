import { ListTasksResultV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { LegacyWire } from '../legacy-wire.ts';

const COUNT = 205;

test('D-3: `tasks/list` returns a long list in pages, each task once, in order of creation', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 300 } });
  const wire = await LegacyWire.open(`${url}/one`);
  const made: string[] = [];
  while (made.length < COUNT) made.push((await wire.begin('echo', { text: 'x' })).taskId);
  const listed: string[] = [];
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await wire.request('tasks/list', cursor === undefined ? {} : { cursor });
    const { tasks, nextCursor } = ListTasksResultV1Schema.parse(page);
    sizes.push(tasks.length);
    listed.push(...tasks.map(({ taskId }) => taskId));
    cursor = nextCursor;
  } while (cursor !== undefined);
  expect(listed).toEqual(made);
  expect(sizes.length).toBeGreaterThan(1);
});

test('D-3, T-2: the oldest ended task makes room for a new one; if all tasks work, a new one is refused', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 3 } });
  const wire = await LegacyWire.open(`${url}/one`);
  const first = await wire.begin('echo', { text: 'done' });
  await wire.request('tasks/result', { taskId: first.taskId });
  const working = [];
  for (let count = 0; count < 3; count += 1) working.push((await wire.begin('slow', { ms: 600_000 })).taskId);
  const { tasks } = await wire.request('tasks/list');
  expect((tasks as { taskId: string }[]).map(({ taskId }) => taskId)).toEqual(working);
  const params = { name: 'slow', arguments: { ms: 1 } };
  for (const more of [{}, { task: {} }]) {
    const error = await wire.error('tools/call', { ...params, ...more });
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining('tasks.perSession') });
  }
  await wire.request('tasks/cancel', { taskId: working[0] });
  await expect.poll(async () => (await wire.send('tools/call', params)).error).toBeUndefined();
});
