import { expect, test } from 'vitest';
import { asProgramAndArguments, programIn } from './command-line.ts';

test.each([
  ['npx -y some-server', 'npx'],
  [' ./server --stdio', './server'],
  ['npx', undefined],
  [' npx ', undefined],
  ['', undefined],
])('C-3: the program in %j is %j', (command, program) => {
  expect(programIn(command)).toBe(program);
});

test.each([
  ['npx -y @modelcontextprotocol/server-everything', '["-y", "@modelcontextprotocol/server-everything"]'],
  ['python -m  mcp_server', '["-m", "mcp_server"]'],
  ['npx -y', '["-y"]'],
])('C-3: the command line %s is suggested with the arguments %s', (command, args) => {
  expect(asProgramAndArguments(command)).toBe(`"command": "${command.split(' ')[0]}", "args": ${args}`);
});

test('X-4: possible secrets in a command line are not repeated', () => {
  for (const command of [
    'npx -y some-server --token hunter2',
    'npx -y some-server hunter2',
    'npx --key=hunter2 some-server',
    'npx --key hunter2',
    'npx postgres://ann:hunter2@db/',
    'npx "hunter2 x"',
  ]) {
    const shown = asProgramAndArguments(command);
    expect(shown).not.toContain('hunter2');
    expect(shown).toMatch(/^"command": "npx", "args": \[.*…\]$/);
  }
  expect(asProgramAndArguments('npx -y', true)).toBe('"command": "npx", "args": ["-y", …]');
});
