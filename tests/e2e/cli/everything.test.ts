/** The reference server of the protocol, end to end. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';
import { runCommand } from '../../support/command.ts';
import { isKey, programInTerminal } from '../../support/terminal.ts';

const EVERYTHING = `node ${join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')}`;

test('C-3: server-everything: tools, resources and prompts work', async () => {
  expect(await runCommand(['call', EVERYTHING, 'get-sum', 'a=2', 'b=3'])).toMatchObject({
    code: 0,
    stdout: 'The sum of 2 and 3 is 5.',
  });
  const structured = await runCommand(['call', EVERYTHING, 'get-structured-content', 'location=New York', '--json']);
  expect(JSON.parse(structured.stdout)).toHaveProperty('structuredContent.temperature');
  expect((await runCommand(['call', EVERYTHING, 'get-tiny-image'])).stdout).toMatch(/^\[image\/png, \d/m);
  expect((await runCommand(['call', EVERYTHING, 'get-resource-links', 'count=2'])).stdout).toMatch(/^→ .*demo:\/\//m);
  expect((await runCommand(['prompts', EVERYTHING, 'args-prompt', 'city=Oslo'])).stdout).toContain('Oslo');
  expect((await runCommand(['doctor', EVERYTHING])).code).toBe(0);
});

test('C-3: server-everything: a long operation shows a progress bar', async () => {
  const terminal = await programInTerminal([
    'call',
    EVERYTHING,
    'trigger-long-running-operation',
    'duration=4',
    'steps=4',
  ]);
  await terminal.shows(/trigger-long-running-operation \ds █{10}░{10} {2}50%/);
  const { code, screen } = await terminal.ended();
  expect(screen).toContain('Long running operation completed. Duration: 4 seconds, Steps: 4.');
  expect(code).toBe(0);
});

test('C-3: server-everything: its sampling request is answered or refused', async () => {
  const args = ['call', EVERYTHING, 'trigger-sampling-request', 'prompt=Why?'];
  const answered = await runCommand([...args, '--answer', '{"text":"Because."}']);
  expect(answered.code).toBe(0);
  expect(answered.stdout).toContain('"text": "Because."');
  // The server makes a tool error of it, but what went wrong is that nobody answered.
  const refused = await runCommand(args);
  expect(refused.code).toBe(6);
  expect(refused.stderr).toContain('system: You are a helpful test server.');
});

test('C-3: server-everything: a form with every kind of field is filled in on a terminal', async () => {
  const terminal = await programInTerminal(['call', EVERYTHING, 'trigger-elicitation-request'], {
    rows: 60,
    columns: 150,
  });
  await terminal.shows('Please provide inputs for the following fields:');
  await terminal.shows('● Answer (13 fields)');
  terminal.press('Enter');
  const fill = async (title: string, ...keys: string[]): Promise<void> => {
    await terminal.shows(new RegExp(`[◆▲] {2}${title}`));
    for (const key of keys) {
      if (isKey(key)) terminal.press(key);
      else terminal.type(key);
    }
  };
  await fill('String: Your full, legal name', 'Ada Lovelace', 'Enter');
  await fill('Boolean: Agree to the terms and conditions \\(optional\\)', 'Down', 'Enter');
  await fill('String with default: ', 'Enter');
  await fill('String with email format', 'nobody', 'Enter');
  await terminal.shows('expected the format email');
  await fill('String with email format', '@example.com', 'Enter');
  await fill('String with uri format', 'Enter');
  await fill('String with date format', '1815-12-10', 'Enter');
  await fill('Integer: [^◆]*\\(a whole number, 1…100, optional\\)', 'C-u', '101', 'Enter');
  await terminal.shows('expected at most 100');
  await fill('Integer', 'C-u', '7', 'Enter');
  await fill('Number in range 1-1000', 'Enter');
  await fill('Untitled Single Select Enum', 'Down', 'Enter');
  await fill('Untitled Multiple Select Enum', 'Space', 'Down', 'Space', 'Down', 'Space', 'Enter');
  await fill('Titled Single Select Enum', 'Down', 'Enter');
  await fill('Titled Multiple Select Enum', 'Down', 'Space', 'Enter');
  await fill('Legacy Titled Single Select Enum', 'Up', 'Enter');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(0);
  const [, raw = ''] = /Raw result: ([\s\S]*?\n\})/.exec(screen) ?? [];
  expect(JSON.parse(raw)).toEqual({
    action: 'accept',
    content: {
      name: 'Ada Lovelace',
      check: true,
      firstLine: 'It was a dark and stormy night.',
      email: 'nobody@example.com',
      birthdate: '1815-12-10',
      integer: 7,
      number: 3.14,
      untitledSingleSelectEnum: 'Rachel',
      untitledMultipleSelectEnum: ['Piano', 'Violin'],
      titledSingleSelectEnum: 'hero-2',
      titledMultipleSelectEnum: ['fish-1', 'fish-2'],
    },
  });
}, 40_000);

test('C-3: server-everything: a tool that only runs as a task asks a question', async () => {
  const args = ['call', EVERYTHING, 'simulate-research-query', 'topic=python', 'ambiguous=true'];
  const { code, stdout, stderr } = await runCommand([...args, '--answer', '{"interpretation":"programming"}']);
  expect(stderr).toContain('asks: ');
  expect(stdout).toContain('# Research Report');
  expect(code).toBe(0);
}, 40_000);

test('C-3: server-everything: a call that requires a visit to a page is repeated after the visit', async () => {
  const args = ['call', EVERYTHING, 'trigger-url-elicitation', 'url=https://example.com/go', 'errorPath=true'];
  const terminal = await programInTerminal(args, { env: { BROWSER: 'true' } });
  await terminal.shows(/This page is at modelcontextprotocol\.io[\s\S]*● Open it in the browser/);
  terminal.press('Enter');
  await terminal.shows('● Done');
  terminal.press('Enter');
  await terminal.shows('Calling the tool again.');
  await terminal.shows(/This page is at example\.com[\s\S]*● Open it in the browser/);
  terminal.press('Down', 'Enter');
  await terminal.shows(/● Done(?![\s\S]*◇ {2}When)/);
  terminal.press('Enter');
  expect((await terminal.ended()).code).toBe(0);

  const unattended = await runCommand(args);
  expect(unattended.code).toBe(6);
  expect(unattended.stderr).toContain('wants you to visit https://modelcontextprotocol.io');
});
