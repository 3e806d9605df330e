import { expect, test } from 'vitest';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, type Round } from '../modern-wire.ts';
import { behind } from './behind.ts';

const ADA = accept({ name: 'Ada' });
const EVE = accept({ name: 'Eve' });

test('D-2: the first of two answers to a question counts, and the second is ignored', async () => {
  const { one } = await behind();
  const wire = await LegacyWire.open(one);
  const stream = await wire.callStream('ask_twice');
  const asked = await stream.heard('elicitation/create');
  expect(await stream.answer(asked, ADA)).toBe(202);
  expect(await stream.answer(asked, EVE)).toBe(202);
  await expect.poll(() => stream.told('elicitation/create').length).toBe(2);
  const [, second] = stream.messages.filter(({ method }) => method === 'elicitation/create');
  await stream.answer(second ?? {}, accept({ age: 36 }));
  expect(textOf(await stream.result())).toBe('Hello Ada, 36');
});

test('D-4: answering a round twice continues the call once', async () => {
  const { one, plain } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const first = await wire.ask('ask_twice');
  const { key } = onlyQuestion(first);
  const { requestState } = first;
  const second = await wire.call('ask_twice', {}, { requestState, inputResponses: { [key]: ADA } });
  const repeated = await wire.call('ask_twice', {}, { requestState, inputResponses: { [key]: EVE } });
  expect(repeated['inputRequests']).toEqual(second['inputRequests']);
  const age = onlyQuestion(second as Round).key;
  const last = { requestState: second['requestState'], inputResponses: { [age]: accept({ age: 36 }) } };
  expect(textOf(await wire.call('ask_twice', {}, last))).toBe('Hello Ada, 36');
  // Its result has been delivered, so there is nothing more to say of it.
  const error = await wire.error('tools/call', { name: 'ask_twice', arguments: {}, ...last });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('has ended') });
  expect(plain.state.calls).toHaveLength(1);
});

test('D-4: two simultaneous answers to one round: the first one counts', async () => {
  const { one, plain } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  const { key } = onlyQuestion(round);
  const { requestState } = round;
  const answers = [ADA, EVE].map((answer) =>
    wire.send('tools/call', { name: 'ask', arguments: {}, requestState, inputResponses: { [key]: answer } }),
  );
  const [ada, eve] = await Promise.all(answers);
  // Both see the one result, or the second comes when it is over.
  expect(textOf(ada?.result ?? {})).toBe('Hello Ada');
  if (eve?.result) expect(textOf(eve.result)).toBe('Hello Ada');
  else expect(eve?.error).toMatchObject({ code: -32602 });
  expect(plain.state.calls).toHaveLength(1);
});

test('D-4: two `tasks/update` requests are both acknowledged, and the first answer counts', async () => {
  const { ext, keeper } = await behind();
  const wire = new ModernWire(ext);
  const { taskId } = await wire.call('ask');
  const { key } = onlyQuestion((await wire.task(taskId, 'input_required')) as never);
  const [first, second] = await Promise.all(
    [ADA, EVE].map((answer) => wire.send('tasks/update', { taskId, inputResponses: { [key]: answer } })),
  );
  expect([first?.error, second?.error]).toEqual([undefined, undefined]);
  expect(await wire.task(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Ada' }] } });
  expect((await wire.send('tasks/update', { taskId, inputResponses: { [key]: EVE } })).error).toBeUndefined();
  expect(requestsOf(keeper.state, 'tasks/update')).toHaveLength(1);
});
