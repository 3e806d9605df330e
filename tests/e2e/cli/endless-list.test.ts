import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { httpByHand, legacy } from '../native/by-hand.ts';

test('C-3, X-3: a task list with endless pages is an error', async () => {
  const server = await httpByHand(
    legacy({
      'tasks/list': (asker) => asker.reply({ tasks: [], nextCursor: `page ${server.count('tasks/list')}` }),
    }),
  );
  const { code, stderr } = await runCommand(['tasks', 'list', server.config.url, '--timeout', '30s']);
  expect(stderr).toContain('tasks/list has more than 1000 pages');
  expect(code).toBe(1);
}, 40_000);
