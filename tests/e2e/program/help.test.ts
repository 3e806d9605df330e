/** Help that can be read on the terminal that it is printed on. */
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { PUBLIC_COMMANDS } from '../../../src/cli/definitions.ts';
import { runCommand } from '../../support/command.ts';
import { runProgram } from './built.ts';
import { programInTerminal } from '../../support/terminal.ts';

const COMMANDS = PUBLIC_COMMANDS;

const longest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

test('L-3: meanwhile --help fits on one screen and names every command', async () => {
  const { code, stdout } = await runProgram(['--help']);
  expect(code).toBe(0);
  expect(stdout.split('\n').length).toBeLessThan(24);
  for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}(?:\\w+, )*${command}[ ,]`, 'm'));
});

test('L-3: in a pipe help lines have at most 80 columns', async () => {
  const program = await runProgram(['--help']);
  expect(longest(program.stdout)).toBeLessThanOrEqual(80);
  for (const command of COMMANDS) {
    const { stdout } = await runCommand([command, '--help']);
    expect(longest(stdout), command).toBeLessThanOrEqual(80);
  }
});

test('L-3: every command has usage, examples and exit codes, and prints the version', async () => {
  for (const command of COMMANDS) {
    const { code, stdout } = await runCommand([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: meanwhile \\[?${command}\\b`));
    expect(stdout, command).toMatch(/^Examples\n {2}\S/m);
    expect(stdout, command).toMatch(/^Exit codes/m);
    expect(await runCommand([command, '--version'])).toEqual({ code: 0, stdout: packageJson.version, stderr: '' });
  }
});

test.each([40, 60, 120])('L-3: on a terminal of %i columns help wraps between words', async (columns) => {
  const terminal = await programInTerminal(['call', '--help'], { columns, rows: 50 });
  const { screen } = await terminal.ended();
  // The same words in the same order, none of them cut.
  const { stdout } = await runProgram(['call', '--help']);
  expect(screen.replaceAll(/\s+/g, ' ')).toContain(stdout.trim().replaceAll(/\s+/g, ' '));
  expect(longest(screen)).toBeLessThanOrEqual(Math.min(columns, 100));
});

test('L-3: help lists exit codes for each client command and as a topic', async () => {
  const { code, stdout } = await runProgram(['help', 'exit-codes']);
  expect(code).toBe(0);
  for (const exit of [0, 1, 2, 3, 4, 5, 6, 130]) expect(stdout).toMatch(new RegExp(`^ +${exit} {2}\\S`, 'm'));
  for (const command of ['call', 'tools', 'resources', 'prompts', 'tasks', 'doctor']) {
    expect((await runProgram([command, '--help'])).stdout).toContain('a question was left unanswered');
  }
});
