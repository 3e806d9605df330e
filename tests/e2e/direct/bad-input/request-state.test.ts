import { expect, test } from 'vitest';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS } from '../modern-wire.ts';
import { behind } from './behind.ts';

const swapped = (text: string): string => text.replace(/^(.)(.)/, '$2$1');

const FORGERIES: Record<string, (state: string) => unknown> = {
  'another signature': (state) => `${state.split('.')[0]}.${swapped(state.split('.')[1] ?? '')}`,
  'another name': (state) => {
    const [, signature] = state.split('.');
    return `${Buffer.from(JSON.stringify({ task: 'other' })).toString('base64url')}.${signature}`;
  },
  'no signature': (state) => state.split('.')[0],
  'an empty signature': (state) => `${state.split('.')[0]}.`,
  'one part more': (state) => `${state}.x`,
  'another spelling': (state) => `${state}=`,
  nothing: () => '',
  'a dot': () => '.',
  'a long text': () => 'x'.repeat(100_000),
};

test.each(Object.entries(FORGERIES))('D-4, X-4: a forged request state is refused: %s', async (_what, forge) => {
  const { one, plain } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  const { key } = onlyQuestion(round);
  const inputResponses = { [key]: accept({ name: 'Ada' }) };
  const params = { name: 'ask', arguments: {}, inputResponses, requestState: forge(round.requestState) };
  expect(await wire.error('tools/call', params)).toMatchObject({ code: -32602 });
  // The true one still does.
  const { requestState } = round;
  expect(textOf(await wire.call('ask', {}, { requestState, inputResponses }))).toBe('Hello Ada');
  expect(plain.state.calls).toHaveLength(1);
});

test.each([5, true, {}, ['x']])('D-4, X-4: %j is not a valid request state', async (requestState) => {
  const { one, plain } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const { error } = await wire.send('tools/call', { name: 'ask', arguments: {}, requestState });
  expect(error).toMatchObject({ code: -32602 });
  expect(plain.state.calls).toEqual([]);
});

test('D-4: a request state is valid only for the tool that was called', async () => {
  const { one } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const { requestState } = await wire.ask('ask');
  const error = await wire.error('tools/call', { name: 'ask_twice', arguments: {}, requestState });
  expect(error).toMatchObject({ code: -32602 });
});

test('D-4, T-2: a request state whose call has ended and was removed gets an error that says so', async () => {
  const clock = new JumpingClock();
  const settings = { tasks: { keepMs: 1000, cleanupMs: 1000 }, questions: { timeoutMs: 60_000 } };
  const { one, running } = await behind(settings, clock);
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  const { key } = onlyQuestion(round);
  const inputResponses = { [key]: accept({ name: 'Ada' }) };
  const tasks = (): number => running.gateway.sessions.flatMap((session) => session.tasks.list()).length;
  expect(tasks()).toBe(1);
  clock.jump(settings.questions.timeoutMs);
  const working = (): number => running.gateway.sessions.flatMap((session) => session.tasks.atWork()).length;
  await soon(working).toBe(0);
  clock.jump(2 * settings.tasks.keepMs);
  await soon(tasks).toBe(0);
  const error = await wire.error('tools/call', {
    name: 'ask',
    arguments: {},
    requestState: round.requestState,
    inputResponses,
  });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('has ended') });
});

test('D-4: a request state without answers brings the same question again', async () => {
  const { one } = await behind();
  const wire = new ModernWire(one, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  const again = await wire.call('ask', {}, { requestState: round.requestState });
  expect(again).toMatchObject({ resultType: 'input_required', inputRequests: round.inputRequests });
});
