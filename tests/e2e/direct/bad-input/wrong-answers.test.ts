import { expect, test } from 'vitest';
import type { Json } from '../../../support/hub.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, type Round } from '../modern-wire.ts';
import { behind } from './behind.ts';

/** None of them answers the question for a name. */
const WRONG: readonly Json[] = [
  {},
  { action: 'maybe' },
  { action: 'accept' },
  { action: 'accept', content: {} },
  { action: 'accept', content: { name: 5 } },
  { action: 'accept', content: { name: '' } },
  { action: 'accept', content: ['Ada'] },
];

const ADA = accept({ name: 'Ada' });

test.each(WRONG)(
  'D-2, X-4: an answer that does not match the schema reaches the server as an error: %j',
  async (answer) => {
    const { one } = await behind();
    const wire = await LegacyWire.open(one);
    const stream = await wire.callStream('ask');
    expect(await stream.answer(await stream.heard('elicitation/create'), answer)).toBe(202);
    const { error } = await stream.answered();
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('answer is invalid') });
    expect(textOf(await wire.call('echo', { text: 'still here' }))).toBe('still here');
  },
);

test.each([5, 'Ada', null, ['Ada']])(
  'D-2, X-4: a malformed answer is refused, and the question stays open: %j',
  async (answer) => {
    const { one } = await behind();
    const wire = await LegacyWire.open(one);
    const stream = await wire.callStream('ask');
    const asked = await stream.heard('elicitation/create');
    expect(await stream.answer(asked, answer)).toBe(400);
    expect(await stream.answer(asked, ADA)).toBe(202);
    expect(textOf(await stream.result())).toBe('Hello Ada');
  },
);

test('D-2: an error response to a question reaches the server unchanged', async () => {
  const { one } = await behind();
  const wire = await LegacyWire.open(one);
  const stream = await wire.callStream('ask');
  const refused = { code: -1, message: 'User rejected it', data: { why: 'private' } };
  await stream.refuse(await stream.heard('elicitation/create'), refused);
  const { error } = await stream.answered();
  expect(error).toMatchObject({ code: -1, data: { why: 'private' } });
  expect(error?.message).toContain('User rejected it');
});

test.each(WRONG)(
  'D-4, X-4: a wrong answer in a round is an error that says so, and the question stays open: %j',
  async (answer) => {
    const { one, plain } = await behind();
    const wire = new ModernWire(one, { capabilities: ROUNDS });
    const round = await wire.ask('ask');
    const { key } = onlyQuestion(round);
    const { requestState } = round;
    const params = { name: 'ask', arguments: {}, requestState };
    const error = await wire.error('tools/call', { ...params, inputResponses: { [key]: answer } });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('answer is invalid') });
    const done = await wire.call('ask', {}, { requestState, inputResponses: { [key]: ADA } });
    expect(textOf(done)).toBe('Hello Ada');
    expect(plain.state.calls).toHaveLength(1);
  },
);

test.each([5, 'Ada', null, ['Ada']])(
  'D-4, X-4: a malformed answer in a round is an error or repeats the question: %j',
  async (answer) => {
    const { one } = await behind();
    const wire = new ModernWire(one, { capabilities: ROUNDS });
    const round = await wire.ask('ask');
    const { key } = onlyQuestion(round);
    const { requestState } = round;
    const params = { name: 'ask', arguments: {}, requestState };
    for (const inputResponses of [{ [key]: answer }, answer]) {
      const answered = await wire.send('tools/call', { ...params, inputResponses });
      // Without answers the question is asked again.
      if (answered.result === undefined) expect(answered.error?.code).toBe(-32602);
      else expect((answered.result as Round).resultType).toBe('input_required');
    }
    expect(textOf(await wire.call('ask', {}, { requestState, inputResponses: { [key]: ADA } }))).toBe('Hello Ada');
  },
);

test.each(WRONG)(
  'D-4, X-4: a wrong answer with `tasks/update` is an error, and the task keeps waiting: %j',
  async (answer) => {
    const { ext } = await behind();
    const wire = new ModernWire(ext);
    const { taskId } = await wire.call('ask');
    const { key } = onlyQuestion((await wire.task(taskId, 'input_required')) as never);
    const error = await wire.error('tasks/update', { taskId, inputResponses: { [key]: answer } });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('answer is invalid') });
    expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    expect(await wire.request('tasks/update', { taskId, inputResponses: { [key]: ADA } })).toMatchObject({});
    expect(await wire.task(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Ada' }] } });
  },
);
