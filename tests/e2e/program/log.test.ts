/** The log: JSON for programs, one readable line for people, and nothing in it that a terminal would obey. */
import { expect, test } from 'vitest';
import { configFile } from '../../support/gateway.ts';
import { logged, logLines, startProgram, type Program } from './built.ts';
import { INITIALIZE, toolCall } from '../../support/raw-http.ts';
import { programInTerminal } from '../../support/terminal.ts';

/** Ends at once; its last words hold a C1 control sequence, a bidi override and a line break within a line. */
const SPITEFUL = {
  command: process.execPath,
  args: ['-e', String.raw`console.error('bad \u009B31mred\u0085 \u202Eesrever\u2066 end'); process.exit(1)`],
};
const RAW = /[\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;

async function stdio(args: string[]): Promise<Program> {
  const program = await startProgram(['stdio', '--store', ':memory:', ...args]);
  const write = (message: object): void => void program.child.stdin.write(`${JSON.stringify(message)}\n`);
  write(INITIALIZE);
  write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  write(toolCall('list_tools', {}, 1));
  return program;
}

test('X-4: control and bidi characters of a server are escaped in the JSON log', async () => {
  const config = await configFile({ spiteful: SPITEFUL });
  const program = await stdio(['--config', config]);
  await expect.poll(() => program.stderr.join('\n'), { timeout: 15_000 }).toContain('esrever');
  expect(
    logLines(program)
      .map(({ data }) => String(data?.['error']))
      .join('\n'),
  ).toContain('\u009B31mred\u0085 \u202Eesrever\u2066 end');
  expect(program.stderr.join('\n')).toContain(String.raw`\u009b31mred\u0085 \u202eesrever\u2066`);
  expect(program.stderr.join('\n')).not.toMatch(RAW);
});

test('X-4, O-1: control and bidi characters of a server are escaped in the text log, one line per entry', async () => {
  const config = await configFile({ spiteful: SPITEFUL }, { logFormat: 'text' });
  const program = await stdio(['--config', config]);
  await expect.poll(() => program.stderr.join('\n'), { timeout: 15_000 }).toContain('esrever');
  expect(program.stderr.join('\n')).not.toMatch(RAW);
  for (const line of program.stderr) expect(line).toMatch(/^\d\d:\d\d:\d\d (?:warn|error) +[a-z ]+ {2}\w+=/);
});

test('O-1: on stdio only warnings and errors are logged by default', async () => {
  const config = await configFile({});
  const quiet = await stdio(['--config', config]);
  await expect.poll(() => quiet.stdout.length, { timeout: 15_000 }).toBe(2);
  quiet.child.stdin.end();
  expect(await quiet.exited).toBe(0);
  expect(quiet.stderr).toEqual([]);

  const inFile = await stdio(['--config', await configFile({}, { logLevel: 'info' })]);
  await logged(inFile, 'listening');
  const byFlag = await stdio(['--config', config, '--log-level', 'info']);
  await logged(byFlag, 'listening');
});

test('O-1: --log-format selects JSON or text, on a terminal and in a pipe', async () => {
  const flags = ['serve', '--port', '0', '--store', ':memory:'];
  const text = await startProgram([...flags, '--log-format', 'text']);
  await expect
    .poll(() => text.stderr.join('\n'), { timeout: 15_000 })
    .toMatch(/^\d\d:\d\d:\d\d info +listening {2}url=http/m);
  const terminal = await programInTerminal([...flags, '--log-format', 'json'], { columns: 200 });
  await terminal.shows('"event":"listening"');
  const wrong = await startProgram([...flags, '--log-format', 'xml']);
  expect(await wrong.exited).toBe(2);
  expect(wrong.stderr.join('\n')).toContain('--log-format: expected "auto" or "json" or "text", got "xml"');
  const variable = await startProgram(flags, { env: { MEANWHILE_LOG_FORMAT: 'text' } });
  await expect.poll(() => variable.stderr.join('\n'), { timeout: 15_000 }).toContain('listening  url=http');
});

test('O-1: by default the log is coloured text on a terminal and JSON in a pipe', async () => {
  const config = await configFile({});
  const terminal = await programInTerminal(['serve', '--config', config]);
  const screen = await terminal.shows(/^\d\d:\d\d:\d\d info +listening {2}url=http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
  expect(screen).not.toContain('{"level"');
  expect(terminal.output()).toContain('\u001B[36minfo');
  terminal.press('C-c');
  const end = await terminal.ended();
  expect(end.code).toBe(0);
  expect(end.screen).toMatch(/info +stopping {2}reason=SIGINT/);

  const piped = await startProgram(['serve', '--config', config]);
  await logged(piped, 'listening');
  expect(logLines(piped).length).toBeGreaterThan(0);
});
