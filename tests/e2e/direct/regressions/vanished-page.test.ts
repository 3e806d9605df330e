import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { puppet, TOOL } from './puppet.ts';

const PAGE = 100;
const ROOM = PAGE + 3;

test('D-3, T-2: paging through tasks continues when the last task of a page was removed', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config }, { tasks: { perSession: ROOM } });
  const wire = await LegacyWire.open(`${url}/one`);
  const made = new Map<string, string>();
  const begin = async (): Promise<void> => {
    const name = `call ${made.size}`;
    made.set((await wire.begin(TOOL, { name })).taskId, name);
    await server.begun(name);
  };
  const page = async (params = {}): Promise<{ ids: string[]; nextCursor: unknown }> => {
    const { tasks, nextCursor } = await wire.request('tasks/list', params);
    return { ids: (tasks as { taskId: string }[]).map(({ taskId }) => taskId), nextCursor };
  };
  while (made.size <= PAGE) await begin();
  const first = await page();
  expect(first.ids).toHaveLength(PAGE);
  const last = String(first.ids.at(-1));
  server.end(made.get(last) ?? '');
  await soon(async () => (await wire.request('tasks/get', { taskId: last }))['status']).toBe('completed');
  await wire.request('tasks/result', { taskId: last });
  // The one whose result was read makes room for the last of these.
  while (made.size <= ROOM) await begin();
  expect(await wire.error('tasks/get', { taskId: last })).toMatchObject({ code: -32_602 });

  const second = await page({ cursor: first.nextCursor });
  expect([...first.ids, ...second.ids].toSorted()).toEqual([...made.keys()].toSorted());
  expect(second.nextCursor).toBeUndefined();
});
