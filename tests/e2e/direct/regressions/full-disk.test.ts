import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { createTaskController, createTaskServer } from '../../../../src/server/index.ts';
import { temporaryFolder } from '../../../support/gateway.ts';
import { defer, owned } from '../../../support/owned.ts';
import { textOf } from '../answered.ts';
import { ModernWire } from '../modern-wire.ts';

test('D-1, T-1: an application and its client continue when the store fails during a cancel', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  defer(async () => void process.off('unhandledRejection', note));

  const store = join(await temporaryFolder(), 'store.db');
  const settings = { direct: { taskAfterMs: 50 }, logLevel: 'silent' as const };
  const tasks = owned(await createTaskController({ store, settings }));
  const tools = {
    work: { run: async () => ({ task: await tasks.create({ tool: 'work', args: {} }) }) },
    echo: { run: async () => 'still here' },
  };
  const server = owned(createTaskServer({ name: 'app', version: '1.0.0', tasks, tools, settings }));
  const wire = new ModernWire(await server.listen());
  const { taskId } = await wire.call('work');
  const other = new Database(store);
  defer(async () => void other.close());

  other.exec('ALTER TABLE tasks RENAME TO elsewhere');
  await wire.send('tasks/cancel', { taskId });
  expect(textOf(await wire.call('echo'))).toBe('still here');
  other.exec('ALTER TABLE elsewhere RENAME TO tasks');
  await wire.task(taskId, 'cancelled');
  expect(tasks.list().map(({ status }) => status)).toEqual(['cancelled']);
  expect(unhandled).toEqual([]);
});
