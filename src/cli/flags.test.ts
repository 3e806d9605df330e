import { expect, test } from 'vitest';
import { commandIn, parseCommandLine } from './flags.ts';

test('C-3: flags stand anywhere, and each command has its own', () => {
  expect(
    parseCommandLine(['--json', 'call', 'srv', '--answer', '{}', 'tool', '--answer', '[]', 'a=--b', '--args', '-']),
  ).toEqual({
    command: 'call',
    operands: ['srv', 'tool', 'a=--b'],
    flags: { json: true, answer: ['{}', '[]'], args: '-' },
    help: false,
    version: false,
  });
  expect(parseCommandLine(['call', 's', 't', '--', '--json=1']).operands).toEqual(['s', 't', '--json=1']);
  expect(parseCommandLine([])).toMatchObject({ command: 'stdio', operands: [] });
  expect(parseCommandLine(['--config', 'call'])).toMatchObject({ command: 'stdio', flags: { config: 'call' } });
});

test.each([
  [['serve', '--json'], "Unknown option '--json'"],
  [['call', '--port', '1'], "Unknown option '--port'"],
  [['doctor', '--answer', '{}'], "Unknown option '--answer'"],
  [
    ['nothing'],
    "no command 'nothing'; there are stdio, serve, demo, call, tools, resources, prompts, tasks, doctor and store",
  ],
  [['--nothing', 'x'], "Unknown option '--nothing'\nwhat begins with - and is no option stands after --"],
  [['call', '--jsn'], "Unknown option '--jsn'; did you mean '--json'?"],
])('C-3: %j is refused', (args, message) => {
  expect(() => parseCommandLine(args)).toThrow(message);
});

test('C-3: help is found on any line, and the command it is about', () => {
  expect(parseCommandLine(['nothing', '--help'])).toMatchObject({ command: 'stdio', help: true });
  expect(parseCommandLine(['call', '-h'])).toMatchObject({ command: 'call', help: true });
  expect(commandIn(['--bad', 'call', '--worse'])).toBe('call');
  expect(commandIn(['nothing'])).toBeUndefined();
});
