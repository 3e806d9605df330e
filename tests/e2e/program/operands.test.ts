import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';

test.each(['stdio', 'serve'])('C-3, X-4: %s with an unexpected word is wrong usage', async (command) => {
  const { code, stdout, stderr } = await runCommand([command, 'files', '--store', ':memory:']);
  expect(stderr).toContain("'files'");
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});
