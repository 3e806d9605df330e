/** `meanwhile status` and `meanwhile watch` at a gateway that does what the test says. */
import { expect, test } from 'vitest';
import { runCommand } from '../../../support/command.ts';
import { startProgram } from '../../../support/program.ts';
import { programInTerminal } from '../../../support/terminal.ts';
import { formQuestion, ScriptedApi } from './scripted-api.ts';

const call = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  seq: 1,
  server: 'shop',
  tool: `tool_${id}`,
  sessionId: 's',
  principal: 'ann',
  program: 'test',
  view: 'hub',
  startedAt: Date.now() - 5000,
  status: 'running',
  waits: [],
  argumentBytes: 2,
  ...more,
});

test('W-3: on a terminal watch follows calls and questions, also after a lost connection, until q', async () => {
  const api = await ScriptedApi.start();
  const terminal = await programInTerminal(['watch', ...api.flags], { prefix: 'echo earlier;' });
  await terminal.shows('no open questions');
  await terminal.shows('no running calls');
  await terminal.shows(/^meanwhile 9\.9\.9 {2}http:\/\/127\.0\.0\.1:\d+ {2}up \d+s {2}ann \(operator\)$/m);
  await expect.poll(() => api.listeners).toBe(1);
  api.send('call', call('one'), 1);
  await terminal.shows('calls: 1 running');
  const progress = { progress: 1, total: 4, message: 'baking' };
  api.send('call', call('one', { progress }), 2);
  await terminal.shows(/shop tool_one {2}\d+s {2}█{5}░{15} {2}25% {2}test \(ann\) {2}running {2}baking/);
  api.send('question', formQuestion('q1', {}, { params: undefined }), 3);
  api.send('call', call('one', { status: 'waiting', progress }), 4);
  await terminal.shows('1 open question (meanwhile inbox)');
  await terminal.shows('What about q1?');
  await terminal.shows('calls: 0 running, 1 waiting');
  // What the stream has not told is read again.
  api.reply('GET calls', { items: [] });
  api.loseStreams();
  await expect.poll(() => api.asked.map(({ path }) => path)).toContain('events?after=4');
  await terminal.shows('no running calls');
  await terminal.shows('no open questions');
  api.send('call', call('one', { status: 'failed', endedAt: Date.now(), error: { code: 1, message: 'burnt' } }), 5);
  await terminal.shows(/shop tool_one {2}\d+s ago {2}took \d+s {2}test \(ann\) {2}failed {2}burnt/);
  await terminal.shows('q quits');
  terminal.type('q');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(0);
  expect(screen).toContain('earlier');
  expect(screen).not.toContain('q quits');
});

test('W-3: the screen of watch never exceeds the height of the terminal', async () => {
  const api = await ScriptedApi.start();
  const many = Array.from({ length: 60 }, (_, index) => call(`c${index}`, { startedAt: 1000 + index }));
  api.reply('GET calls', { items: many });
  api.reply('GET questions', { items: Array.from({ length: 60 }, (_, index) => formQuestion(`q${index}`, {})) });
  const terminal = await programInTerminal(['watch', ...api.flags], { rows: 24, columns: 60 });
  const screen = await terminal.shows('q quits');
  expect(screen).toContain('60 open questions');
  expect(screen.match(/and \d+ more/g)).toHaveLength(3);
  expect(screen.trimEnd().split('\n')).toHaveLength(24);
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
  const status = await programInTerminal(['status', ...api.flags], { rows: 24, columns: 60 });
  const shown = await status.ended();
  expect(shown.screen).toMatch(/^meanwhile 9\.9\.9/);
  expect(shown.screen.split('[exit')[0]?.trimEnd().split('\n').length).toBeLessThan(24);
});

test('W-3: without a terminal watch prints each change as a line, with --json as a document', async () => {
  const api = await ScriptedApi.start();
  const plain = await startProgram(['watch', ...api.flags]);
  const json = await startProgram(['watch', '--json', ...api.flags]);
  await expect.poll(() => api.listeners).toBe(2);
  const progress = { progress: 1, total: 4, message: 'bak\u001B[31ming' };
  api.send('hello', {}, 0);
  api.send('call', call('one', { progress }), 1);
  api.send('session', { id: 's' });
  api.send('call', { kind: 'summary', id: 'x', seq: 2, server: 'shop', tool: 't', count: 9, errors: 0 }, 2);
  api.send('question', formQuestion('q1', {}), 3);
  const answeredBy = { principal: 'bob', via: 'tools' };
  api.send('question', formQuestion('q1', {}, { status: 'accepted', answeredBy, endedAt: Date.now() }), 4);
  api.send('call', call('one', { status: 'completed', isError: true, endedAt: Date.now(), progress }), 5);
  await expect.poll(() => plain.stdout).toHaveLength(4);
  const rest = plain.stdout.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, '').replace(/\d+s ago$/, 'now'));
  expect(rest).toEqual([
    'shop tool_one  25%  running  baking',
    'shop order  question  asks: What about q1?  (meanwhile inbox q1)',
    'shop order  question  already answered by bob through the hub tools, now',
    'shop tool_one  completed with an error',
  ]);
  await expect.poll(() => json.stdout).toHaveLength(5);
  expect(json.stdout.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: 'call', item: { id: 'one', status: 'running' } },
    { event: 'call', item: { kind: 'summary', count: 9 } },
    { event: 'question', item: { id: 'q1', status: 'open' } },
    { event: 'question', item: { id: 'q1', status: 'accepted' } },
    { event: 'call', item: { id: 'one', status: 'completed' } },
  ]);
  expect(await plain.stop()).toBe(0);
  json.child.kill('SIGINT');
  expect(await json.exited).toBe(0);
});

test('W-3, W-5: status prints the state once, also as one JSON document', async () => {
  const api = await ScriptedApi.start();
  const [running, question] = [call('one'), formQuestion('q1', {})];
  api.script('GET calls', { body: { items: [running] } }, { body: { items: [] } });
  api.reply('GET questions', { items: [question] });
  const broken = { name: 'broken', state: 'failed', sessions: 0, error: 'not found', fix: 'install it' };
  const fine = { name: 'fine', state: 'connected', sessions: 1, latencyMs: 12.3 };
  api.reply('GET servers', { items: [fine, broken] });
  const session = { id: 's', principal: 'ann', program: 'test', view: 'hub', connected: true, questions: 1 };
  api.reply('GET sessions', { items: [{ ...session, tasks: { running: 1, ended: 2 } }] });
  const { code, stdout } = await runCommand(['status', ...api.flags]);
  expect(code).toBe(0);
  expect(stdout).toContain('1 open question (meanwhile inbox)\n  shop order  1m ');
  expect(stdout).toMatch(/^calls: 1 running\n {2}shop tool_one {2}\d+s .*test \(ann\) {2}running$/m);
  expect(stdout).toMatch(/^ {2}fine {4}connected {2}1 session {3}12 ms$/m);
  expect(stdout).toMatch(/^ {2}broken {2}failed {5}0 sessions .*not found; fix: install it$/m);
  expect(stdout).toMatch(
    /^sessions: 1, 1 connected\n {2}test \(ann\) {2}hub {2}connected {2}1 running, 2 ended {2}1 waiting$/m,
  );
  api.script('GET calls', { body: { items: [running] } }, { body: { items: [] } });
  const json = await runCommand(['status', '--json', ...api.flags]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    url: api.url,
    principal: 'ann',
    gateway: { version: '9.9.9' },
    questions: [{ id: 'q1' }],
    calls: [{ id: 'one' }],
    servers: [{ name: 'fine' }, { name: 'broken' }],
    sessions: [{ id: 's' }],
  });
});
