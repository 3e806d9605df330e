import { expect, test } from 'vitest';
import { taskResultCommand } from './suggested-command.ts';

test('C-3: the suggested command is valid in a shell and shows no secrets', () => {
  expect(taskResultCommand('http://127.0.0.1:9/mcp(1)', "id'1", {}, '/usr/bin/meanwhile')).toBe(
    String.raw`meanwhile tasks result 'http://127.0.0.1:9/mcp(1)' 'id'\''1'`,
  );
  expect(taskResultCommand('http://me:secret@host/mcp?key=secret', '-x', {}, '/usr/bin/meanwhile')).toBe(
    `meanwhile tasks result -- 'http://host/mcp?key=***' -x`,
  );
  const flags = { config: 'my config.json', header: ['Authorization: Bearer secret'], session: 's-1' };
  expect(taskResultCommand('api', 't', flags, '/x/dist/cli.js')).toBe(
    `node /x/dist/cli.js tasks result api t --session s-1 --config 'my config.json' --header 'Authorization: …'`,
  );
});
