import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { coreTask, extensionTask, httpByHand, legacy, modern, text } from '../native/by-hand.ts';
import { begin, GENERATIONS } from './begun.ts';

test.each(GENERATIONS)(
  'C-3: cancelling a completed task is an error, not a success (%s)',
  async (_generation, start) => {
    const { server, task, taskId } = await begin(start, 'hold', { text: 'kept' });
    server.state.release();
    expect(await runCommand(['tasks', 'result', ...task])).toMatchObject({ code: 0, stdout: 'kept' });
    const { code, stdout, stderr } = await runCommand(['tasks', 'cancel', ...task]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('completed');
    const json = await runCommand(['tasks', 'cancel', ...task, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toHaveProperty('error');
    const state = await runCommand(['tasks', 'get', ...task, '--json']);
    expect(JSON.parse(state.stdout)).toMatchObject({ taskId, status: 'completed' });
  },
);

const STUBBORN = [
  {
    generation: '2025-11-25',
    script: legacy({
      'tasks/cancel': (asker) => asker.reply(coreTask('working')),
      'tasks/get': (asker) => asker.reply(coreTask('working')),
    }),
  },
  {
    generation: '2026-07-28',
    script: modern({ 'tasks/get': (asker) => asker.reply(extensionTask('working')) }),
  },
];

test.each(STUBBORN)(
  'C-3: a task that the server continues after its cancel is reported as still working ($generation)',
  async ({ script }) => {
    const { config } = await httpByHand(script);
    const said = await runCommand(['tasks', 'cancel', config.url, 't']);
    expect(said).toMatchObject({ code: 0, stdout: 'asked to cancel t: still working' });
    const json = await runCommand(['tasks', 'cancel', config.url, 't', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ taskId: 't', cancelled: false, status: 'working' });
  },
);

test('C-3: cancelling a task that has failed reports that it already failed', async () => {
  const failed = extensionTask('failed', { error: { code: 1, message: 'quota used up' } });
  const { config } = await httpByHand(
    modern({ 'tasks/get': (asker) => asker.reply(failed), 'tasks/result': (asker) => asker.reply(text('none')) }),
  );
  const { code, stderr } = await runCommand(['tasks', 'cancel', config.url, 't']);
  expect(code).toBe(1);
  expect(stderr).toContain('already failed');
});
