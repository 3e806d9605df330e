import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { runProgram, startProgram, type Program } from '../program/built.ts';

const PATIENCE = { timeout: 15_000 };

/** What the story must show, in this order. */
const STORY = [
  '<- demo__slow_report: ',
  '<- demo__book_table: ',
  '<- demo__summarize: ',
  '-> demo__slow_report {"topic":"lemonade"',
  ': the client can do other work',
  '<- Report on lemonade: ',
  '-> demo__book_table ',
  '<- elicitation/create: "demo: Book a table for 2 at Luigi\'s, tonight 19:30?"',
  'without a terminal, the demo answers yes',
  "<- Booked: Luigi's, tonight 19:30, 2 people, inside.",
  '{"annotations":{"destructiveHint":true},"then":"ask"}',
  '-> demo__cancel_booking {"reference":"DEMO-2LUI"}',
  '<- elicitation/create: "Allow cancel_booking on demo? Arguments: { "reference": "DEMO-2LUI" }"',
  '<- Cancelled: DEMO-2LUI.',
  '-> execute_tool {"server":"demo","tool":"slow_report"',
  '<- Tool call exceeded timeout (1000ms). Promoted to task ',
  '-> await_activity',
  '<- reason: ',
  'still running: nothing',
  '-> get_task_result',
  '<- Report on tea: ',
  '-> execute_tool {"server":"demo","tool":"book_table"',
  '<- The call needs input to continue',
  '<- pending_client_action: "Book a table for 4 at Luigi\'s, tomorrow 20:00?"',
  '-> respond_to_elicitation',
  '-> get_task_result',
  "<- Booked: Luigi's, tomorrow 20:00, 4 people, inside.",
  '-> execute_tool {"server":"demo","tool":"summarize"',
  '<- pending_client_action: sampling request: ',
  'The demo has no model, so it answers with a prepared sentence.',
  '-> respond_to_sampling',
  '-> get_task_result',
  '<- Summary by the-demo-itself: ',
  '{\n  "mcpServers": {\n    "meanwhile": {\n      "command": "node",\n      "args": [\n',
];

test('H-3, H-5, H-6, H-7, M-1, G-1: the demo runs its story with the real gateway, from the task to the result', async () => {
  const { code, stdout, stderr } = await runProgram(['demo']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const missing = STORY.reduce<{ from: number; missing: string[] }>(
    ({ from, missing }, part) => {
      const at = stdout.indexOf(part, from);
      return at === -1 ? { from, missing: [...missing, part] } : { from: at + part.length, missing };
    },
    { from: 0, missing: [] },
  ).missing;
  expect(missing, stdout).toEqual([]);
  expect(stdout, 'colours belong in a terminal').not.toContain('\u001B');
});

test('S-4: a demo that ends stops its gateway and its server', async () => {
  const program = await startProgram(['demo']);
  const children = await descendantsOnceAtWork(program);
  expect(await program.exited).toBe(0);
  await vi.waitFor(() => expect(children.filter(isAlive)).toEqual([]), PATIENCE);
});

test.each(['SIGINT', 'SIGTERM'] as const)('S-4: a demo stopped by %s leaves no process', async (signal) => {
  const program = await startProgram(['demo']);
  const children = await descendantsOnceAtWork(program);
  program.child.kill(signal);
  expect(await program.exited).toBe(130);
  expect(program.stderr).toEqual([]);
  await vi.waitFor(() => expect(children.filter(isAlive)).toEqual([]), PATIENCE);
});

test('S-4: a demo whose reader closes the pipe, as in `meanwhile demo | head`, ends quietly', async () => {
  const program = await startProgram(['demo']);
  const children = await descendantsOnceAtWork(program);
  program.child.stdout.destroy();
  expect(await program.exited).toBe(130);
  expect(program.stderr).toEqual([]);
  await vi.waitFor(() => expect(children.filter(isAlive)).toEqual([]), PATIENCE);
});

test('X-4: a gateway that does not start ends the demo with an error message', async () => {
  const { code, stderr } = await runProgram(['demo', '--log-level', 'loud']);
  expect(code).toBe(1);
  expect(stderr).toContain('--log-level');
  expect(stderr).toContain('meanwhile: the demo failed: ');
});

test('X-4: flags that do not apply to the demo are refused', async () => {
  const { code, stdout, stderr } = await runProgram(['demo', '--config', 'mine.json']);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain('--config does not apply');
});

/** The gateway and its server, once a call is running there. */
async function descendantsOnceAtWork(program: Program): Promise<number[]> {
  await vi.waitFor(() => expect(program.stdout.join('\n')).toContain('-> demo__slow_report'), PATIENCE);
  const all = await descendants(program.child.pid ?? 0);
  expect(all.length, 'gateway and demo server').toBeGreaterThanOrEqual(2);
  return all;
}

async function descendants(root: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (parent: number): number[] =>
    rows.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid, ...childrenOf(pid)] : []));
  return childrenOf(root);
}
