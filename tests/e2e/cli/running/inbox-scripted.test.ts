/** `meanwhile inbox` at a gateway that does what a real one does rarely. */
import { expect, test } from 'vitest';
import { runCommand } from '../../../support/command.ts';
import { programInTerminal } from '../../../support/terminal.ts';
import { formQuestion, ScriptedApi } from './scripted-api.ts';

const NAME_AND_AGE = { name: { type: 'string', title: 'Name' }, age: { type: 'integer', title: 'Age' } };

async function withQuestions(...questions: ReturnType<typeof formQuestion>[]): Promise<ScriptedApi> {
  const api = await ScriptedApi.start();
  api.reply('GET questions', { items: questions });
  for (const question of questions) api.reply(`GET questions/${question.id}`, question);
  return api;
}

test('W-2: inbox asks again for a field that the gateway refused, with the entered values', async () => {
  const question = formQuestion('q1', NAME_AND_AGE);
  const api = await withQuestions(question);
  const error = { code: 'invalid_answer', message: 'the answer is invalid', fields: { age: 'nobody is that old' } };
  api.script(
    'POST questions/q1/answer',
    { status: 422, body: { error } },
    { body: { ...question, status: 'accepted', answeredBy: { principal: 'ann', via: 'terminal' } } },
  );
  const terminal = await programInTerminal(['inbox', ...api.flags]);
  await terminal.shows('shop asks: What about q1?');
  await terminal.shows(/called by test \(ann\); waiting for 1m \d\ds, 59m \d\ds left/);
  await terminal.shows('● Answer (2 fields)');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  terminal.type('Methuselah');
  terminal.press('Enter');
  await terminal.shows('◆  Age');
  terminal.type('969');
  terminal.press('Enter');
  await terminal.shows('Age: nobody is that old');
  const asked = await terminal.shows(/nobody is that old[\s\S]*◆ {2}Age[^\n]*\n│ {2}969/);
  expect(asked.match(/◇ {2}Name/g)).toHaveLength(1);
  terminal.press('C-u');
  terminal.type('96');
  terminal.press('Enter');
  const { code, screen } = await terminal.ended();
  expect(screen).toContain('Answered.');
  expect(code).toBe(0);
  const sent = api.asked.filter(({ method }) => method === 'POST').map(({ body }) => body);
  expect(sent).toEqual([
    { action: 'accept', content: { name: 'Methuselah', age: 969 } },
    { action: 'accept', content: { name: 'Methuselah', age: 96 } },
  ]);
});

test('W-2: inbox can send an answer again after the connection failed', async () => {
  const question = formQuestion('q1', { name: { type: 'string', title: 'Name' } });
  const api = await withQuestions(question);
  api.script('POST questions/q1/answer', 'drop', { body: { ...question, status: 'accepted' } });
  const terminal = await programInTerminal(['inbox', 'q1', ...api.flags]);
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  terminal.type('Ada');
  terminal.press('Enter');
  await terminal.shows(/Not sent: no gateway is reachable at http[\s\S]*● Answer/);
  terminal.press('Enter');
  await terminal.shows(/◆ {2}Name[^\n]*\n│ {2}Ada/);
  terminal.press('Enter');
  expect((await terminal.ended()).code).toBe(0);
  expect(api.asked.findLast(({ method }) => method === 'POST')?.body).toEqual({
    action: 'accept',
    content: { name: 'Ada' },
  });
});

test('W-2: the form closes and names the person who answered first', async () => {
  const question = formQuestion('q1', { name: { type: 'string', title: 'Name' } });
  const api = await withQuestions(question);
  const terminal = await programInTerminal(['inbox', ...api.flags]);
  await terminal.shows('● Answer');
  terminal.press('Enter');
  await terminal.shows('◆  Name');
  await expect.poll(() => api.listeners).toBe(1);
  const answeredBy = { principal: 'bob', via: 'console' };
  api.send('question', { ...question, status: 'accepted', answeredBy, endedAt: Date.now() }, 2);
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/The question is already answered by bob in the console, \d+s ago\./);
  expect(code).toBe(0);
});

test('W-2: a late answer names the person who answered first', async () => {
  const question = formQuestion('q1', {});
  const api = await withQuestions(question);
  const answeredBy = { principal: 'bob', via: 'client' };
  const late = {
    error: { code: 'already_answered', message: 'too late' },
    question: { ...question, status: 'declined', answeredBy, endedAt: Date.now() },
  };
  api.reply('POST questions/q1/answer', late, 409);
  const terminal = await programInTerminal(['inbox', ...api.flags]);
  await terminal.shows('● Agree');
  terminal.press('Enter');
  expect((await terminal.ended()).screen).toMatch(/The question is already declined by bob in its client, \d+s ago\./);
  const { code, stdout, stderr } = await runCommand(['inbox', 'q1', '--answer', '{}', '--json', ...api.flags]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^meanwhile: the question q1 is already declined by bob in its client, \d+s ago$/);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'refused', question: { status: 'declined' } } });
});

test('W-2: a refused --answer is reported by field, with exit code 2', async () => {
  const api = await withQuestions(formQuestion('q1', NAME_AND_AGE));
  const error = { code: 'invalid_answer', message: 'the answer is invalid', fields: { age: 'nobody is that old' } };
  api.reply('POST questions/q1/answer', { error }, 422);
  const { code, stderr } = await runCommand(['inbox', 'q1', '--answer', '{"name":"A","age":969}', ...api.flags]);
  expect(code).toBe(2);
  expect(stderr).toBe('meanwhile: the answer is invalid\n  age: nobody is that old');
});

test('W-2: with several questions the person chooses one, and Esc leaves them open', async () => {
  const old = { createdAt: Date.now() - 600_000 };
  const api = await withQuestions(formQuestion('q1', {}), formQuestion('q2', {}, old));
  const terminal = await programInTerminal(['inbox', ...api.flags]);
  const listed = await terminal.shows('2 open questions, oldest first');
  expect(listed.indexOf('shop order: What about q2?')).toBeLessThan(listed.indexOf('shop order: What about q1?'));
  terminal.press('Enter');
  await terminal.shows(/shop asks: What about q2\?[\s\S]*● Agree/);
  terminal.press('Escape');
  await terminal.shows(/asks: What about q2\?[\s\S]*2 open questions/);
  terminal.press('Escape');
  expect((await terminal.ended()).code).toBe(0);
  expect(api.asked.filter(({ method }) => method === 'POST')).toEqual([]);
});

test('W-2, X-3: inbox lists all pages', async () => {
  const api = await ScriptedApi.start();
  const [first, second] = [formQuestion('q1', {}), formQuestion('q2', {})];
  api.script('GET questions', { body: { items: [first], next: 'c1' } }, { body: { items: [second] } });
  const { stdout } = await runCommand(['inbox', '--json', ...api.flags]);
  expect(JSON.parse(stdout)).toEqual({ questions: [first, second] });
  expect(api.asked.map(({ path }) => path)).toEqual([
    'me',
    'questions?status=open&limit=200',
    'questions?status=open&limit=200&cursor=c1',
  ]);
});

test('W-2, W-6: inbox --follow continues after a lost connection', async () => {
  const [first, second] = [formQuestion('q1', {}), formQuestion('q2', {})];
  const api = await withQuestions();
  for (const question of [first, second]) {
    api.reply(`GET questions/${question.id}`, question);
    api.reply(`POST questions/${question.id}/answer`, { ...question, status: 'declined' });
  }
  const terminal = await programInTerminal(['inbox', '--follow', ...api.flags]);
  const decline = async (): Promise<void> => {
    terminal.press('Down');
    await terminal.shows('● Decline');
    terminal.press('Enter');
  };
  await terminal.shows(/waiting for questions \d+s Ctrl-C quits/);
  await expect.poll(() => api.listeners).toBe(1);
  api.send('question', first, 7);
  await terminal.shows('● Agree');
  api.reply('GET questions', { items: [first] });
  api.loseStreams();
  await expect.poll(() => api.asked.map(({ path }) => path)).toContain('events?after=7');
  await expect.poll(() => api.listeners).toBe(1);
  await decline();
  await terminal.shows(/Declined\.[\s\S]*waiting for questions/);
  api.send('question', second, 8);
  await terminal.shows(/asks: What about q2\?[\s\S]*● Agree/);
  await decline();
  await terminal.shows(/Declined\.[\s\S]*Declined\.[\s\S]*waiting for questions/);
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(0);
});

test('X-4: control characters of a server cannot move the cursor or disguise text', async () => {
  const evil = '\u001B[2J\u001B]0;title\u0007red\u202E';
  const properties = { [evil]: { type: 'string', title: evil, description: evil } };
  const api = await withQuestions(formQuestion('q1', properties, { message: evil, server: evil, program: evil }));
  const { stdout } = await runCommand(['inbox', ...api.flags]);
  expect(stdout).toMatch(/^q1 {2}red order {2}1m \d\ds, 59m \d\ds left {2}red$/);
  const terminal = await programInTerminal(['inbox', 'q1', ...api.flags]);
  await terminal.shows('red asks: red');
  await terminal.shows('● Answer');
  expect(terminal.output()).not.toContain('\u001B[2J');
  expect(terminal.output()).not.toContain('\u001B]0;');
  terminal.press('C-c');
  expect((await terminal.ended()).code).toBe(130);
});
