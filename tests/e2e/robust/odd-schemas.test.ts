import { expect, test } from 'vitest';
import { configFile } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { logLines, serveProgram, type Serving } from '../../support/program.ts';
import { echo } from '../servers/activity.ts';
import { oddChild } from './odd-server.ts';

/** As a process of its own: if it were blocked, this one must still be able to tell. */
async function serve(): Promise<Serving> {
  return serveProgram(['--config', await configFile({ odd: oddChild() })]);
}

const PATIENCE = { timeout: 8000 };

interface Asked {
  task: string;
  answer: (word: string) => Promise<Reply>;
}

/** A question for one word, of which the server says this much. */
async function askedFor(hub: HubClient, word: Json): Promise<Asked> {
  const schema = { type: 'object', properties: { word }, required: ['word'] };
  const promoted = await hub.call('execute_tool', { server: 'odd', tool: 'ask', args: { schema } });
  const [question] = promoted.elicitations;
  return {
    task: taskIdOf(promoted),
    answer: (text) => {
      const answer = { request_id: question?.requestId, action: 'accept', content: { word: text } };
      return hub.call('respond_to_elicitation', answer, PATIENCE);
    },
  };
}

test('X-3, X-4: a regular expression with exponential backtracking does not block the gateway', async () => {
  const { url } = await serve();
  const [hub, other] = await Promise.all([hubOverHttp(url), hubOverHttp(url)]);
  await echo(other, 'odd');
  const { answer } = await askedFor(hub, { type: 'string', pattern: '^(a+)+$' });
  const answered = answer(`${'a'.repeat(40)}!`);
  const args = { server: 'odd', tool: 'echo', args: { text: 'at once' } };
  const [reply, meanwhile] = await Promise.all([answered, other.call('execute_tool', args, PATIENCE)]);
  expect(meanwhile.text).toBe('at once');
  if (reply.isError) expect(reply.code).toBe('TOOL_ERR_INVALID_ANSWER');
});

const BROKEN: [what: string, word: Json][] = [
  ['a broken pattern', { type: 'string', pattern: '(' }],
  ['a reference to elsewhere', { $ref: 'https://example.com/word.json' }],
  ['a type that there is not', { type: 'strin' }],
];

test.each(BROKEN)('X-4: a question whose schema has %s can be answered', async (_what, word) => {
  const { url } = await serve();
  const hub = await hubOverHttp(url);
  const { task, answer } = await askedFor(hub, word);
  expect((await answer('fine')).body).toMatchObject({ success: true });
  const result = await hub.call('get_task_result', { task_id: task }, PATIENCE);
  expect(JSON.parse(result.text)).toEqual({ action: 'accept', content: { word: 'fine' } });
});

test('O-1: an unknown format in a schema is accepted without a warning on standard error', async () => {
  const program = await serve();
  const hub = await hubOverHttp(program.url);
  const { answer } = await askedFor(hub, { type: 'string', format: 'phone-of-mars' });
  expect((await answer('+4 711')).body).toMatchObject({ success: true });
  expect(await program.stop()).toBe(0);
  // Throws at a line that is not JSON.
  expect(logLines(program).map(({ event }) => event)).toContain('elicitation_responded');
});
