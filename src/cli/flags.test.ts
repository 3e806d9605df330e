import { expect, test } from 'vitest';
import { commandIn, inFlags, parseCommandLine } from './flags.ts';

test('C-3: flags may stand anywhere, and each command has its own flags', () => {
  expect(
    parseCommandLine(['--json', 'call', 'srv', '--answer', '{}', 'tool', '--answer', '[]', 'a=--b', '--args', '-']),
  ).toEqual({
    command: 'call',
    named: true,
    operands: ['srv', 'tool', 'a=--b'],
    flags: { json: true, answer: ['{}', '[]'], args: '-' },
    help: undefined,
    version: false,
    noColor: false,
  });
  expect(parseCommandLine(['call', 's', 't', '--', '--json=1']).operands).toEqual(['s', 't', '--json=1']);
  expect(parseCommandLine([])).toMatchObject({ command: 'stdio', named: false, operands: [] });
  expect(parseCommandLine(['--config', 'call'])).toMatchObject({ command: 'stdio', flags: { config: 'call' } });
});

test.each([
  [['serve', '--json'], "Unknown option '--json'"],
  [['call', '--port', '1'], "Unknown option '--port'"],
  [['doctor', '--answer', '{}'], "Unknown option '--answer'"],
  [
    ['nothing'],
    "no command 'nothing'; the commands are serve, stdio, demo, store, audit, console, notify, inbox, status, watch, top, login, logout, whoami, link, unlink, import, doctor, rules, access, completion, call, tools, resources, prompts and tasks",
  ],
  [['srve'], "no command 'srve'; did you mean 'serve'?\nthe commands are"],
  [['help', 'cal'], "no command 'cal'; did you mean 'call'?"],
  [['help', 'call', 'tools'], "unexpected argument 'tools'"],
  [['version', 'call'], "unexpected argument 'call'"],
  [['--nothing', 'x'], "Unknown option '--nothing'\nto pass a value that starts with -, put it after --"],
  [['call', 's', 't', '-5'], "Unknown option '-5'\nto pass a value that starts with -, put it after --"],
  [
    ['serve', '--server', 'files'],
    "Unknown option '--server'\n--server is for stdio; over HTTP that server is at /mcp/files",
  ],
  [['call', 's', 't', '--topic', 'tea'], "Unknown option '--topic'\nan argument is written without dashes: topic=tea"],
  [['call', 's', 't', '--topic=green tea'], "without dashes: 'topic=green tea'"],
  [['call', 'npx', '-y', 'some-server', 'echo'], 'put the command in quotes: meanwhile call "npx -y …" …'],
  [['tasks', 'list', 'npx', '-y', 'x'], 'put the command in quotes: meanwhile tasks list "npx -y …" …'],
  [['call', '--jsn'], "Unknown option '--jsn'; did you mean '--json'?"],
])('C-3: %j is refused', (args, message) => {
  expect(() => parseCommandLine(args)).toThrow(message);
});

test('C-3: help and version work as commands, too', () => {
  expect(parseCommandLine(['help'])).toMatchObject({ help: 'program', version: false });
  expect(parseCommandLine(['help', 'call'])).toMatchObject({ help: 'call' });
  expect(parseCommandLine(['help', 'exit-codes'])).toMatchObject({ help: 'exit-codes' });
  expect(parseCommandLine(['version'])).toMatchObject({ version: true });
});

test('X-4: an error that names a setting names its flag instead, and other errors stay unchanged', () => {
  const inUse = Object.assign(new Error('choose another `port` (0 = any)'), { code: 'EADDRINUSE' });
  expect(inFlags(inUse)).toBe('choose another with --port (0 = any)');
  expect(inFlags(new Error('take another `port`'))).toBe('take another `port`');
});

test('C-3: --help works on any command line, and the command is found despite unknown flags', () => {
  expect(parseCommandLine(['nothing', '--help'])).toMatchObject({ help: 'program' });
  expect(parseCommandLine(['call', '-h'])).toMatchObject({ help: 'call' });
  expect(commandIn(['--bad', 'call', '--worse'])).toBe('call');
  expect(commandIn(['nothing'])).toBeUndefined();
});
