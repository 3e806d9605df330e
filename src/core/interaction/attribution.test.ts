import { expect, test } from 'vitest';
import {
  afterCallEnded,
  afterOthersEnded,
  attribute,
  chooseHost,
  outlivesCall,
  type OpenCall,
  type Surroundings,
} from './attribution.ts';
import type { Link } from './link.ts';

const call = (callId: string, more: Partial<OpenCall> = {}): OpenCall => ({
  callId,
  effect: 'promote',
  waiting: true,
  detached: false,
  asking: false,
  abandoned: false,
  ...more,
});

const around = (calls: OpenCall[], more: Partial<Surroundings> = {}): Surroundings => ({
  calls,
  hosts: [],
  needsHost: false,
  ...more,
});

const possible = (...ids: string[]): Link => ({
  certainty: 'possible',
  calls: ids.map((callId) => ({ callId })),
  others: false,
});

test('H-3: a question of a known call promotes only this call', () => {
  const link: Link = { certainty: 'certain', by: { callId: 'a' } };
  expect(attribute(link, around([call('a'), call('b')]))).toEqual({ link, promote: ['a'] });
});

test.each(['ask', 'wait'] as const)('H-3: a call on which the question has the effect %s is not promoted', (effect) => {
  const link: Link = { certainty: 'certain', by: { callId: 'a' } };
  expect(attribute(link, around([call('a', { effect })])).promote).toEqual([]);
});

test('H-3: calls that ended before the question was opened are excluded', () => {
  expect(attribute(possible('a', 'b'), around([call('b')]))).toEqual({
    link: { certainty: 'certain', by: { callId: 'b' } },
    promote: ['b'],
  });
  expect(attribute(possible('a'), around([]))).toEqual({ link: { certainty: 'none' }, promote: [] });
});

test('H-3: if the client can be asked on one of the calls, no call becomes a task', () => {
  const link = possible('a', 'b');
  expect(attribute(link, around([call('a'), call('b', { effect: 'ask' })]))).toEqual({ link, promote: [] });
});

test('H-3: a client that gets questions in replies gets it with one call, and the other calls wait', () => {
  const { link, promote } = attribute(possible('a', 'b'), around([call('a'), call('b', { effect: 'reply' })]));
  expect(link).toMatchObject({ certainty: 'possible', host: { callId: 'b' } });
  expect(promote).toEqual(['b']);
});

test('H-3: if the client cannot be asked, every call that may have asked becomes a task', () => {
  const calls = [call('a'), call('b'), call('answered', { waiting: false }), call('other')];
  expect(attribute(possible('a', 'b', 'answered'), around(calls)).promote).toEqual(['a', 'b']);
});

test('H-3: when only one candidate call is left, the question belongs to it', () => {
  expect(afterCallEnded(possible('a', 'b'), 'a', around([call('b')]), false)).toEqual({
    link: { certainty: 'certain', by: { callId: 'b' } },
    promote: ['b'],
  });
});

test('H-3: while another request may have asked, the last candidate call does not own the question', () => {
  const link: Link = { certainty: 'possible', calls: [{ callId: 'a' }, { callId: 'b' }], others: true };
  const left = afterCallEnded(link, 'a', around([call('b', { effect: 'ask' })]), false)?.link;
  expect(left).toEqual({ certainty: 'possible', calls: [{ callId: 'b' }], others: true });
  expect(afterOthersEnded(left ?? link, around([call('b', { effect: 'ask' })]))?.link).toEqual({
    certainty: 'certain',
    by: { callId: 'b' },
  });
});

test('H-3: a question ends with the last request that may have asked it', () => {
  expect(afterOthersEnded({ certainty: 'possible', calls: [], others: true }, around([]))).toBeUndefined();
});

test('H-3: a client that already has the question with an ended call does not get it with another call', () => {
  const link: Link = { ...possible('a', 'b', 'c'), host: { callId: 'a' } } as Link;
  const calls = around([call('b', { effect: 'reply' }), call('c', { effect: 'reply' })]);
  expect(afterCallEnded(link, 'a', calls, true)).toEqual({ link: possible('b', 'c'), promote: [] });
  expect(afterCallEnded(link, 'a', calls, false)).toMatchObject({ link: { host: { callId: 'b' } }, promote: ['b'] });
});

test('D-4: a client without a standing stream gets a question without a call with one of its requests', () => {
  const surroundings = around([call('a', { effect: 'reply' })], { needsHost: true });
  expect(attribute({ certainty: 'none' }, surroundings)).toEqual({
    link: { certainty: 'none', host: { callId: 'a' } },
    promote: ['a'],
  });
});

test('D-4: when the host ends, the next request hosts the question, unless its answer is on the way', () => {
  const link: Link = { certainty: 'none', host: { callId: 'a' } };
  const others = around([call('b', { effect: 'reply' })], { needsHost: true });
  expect(afterCallEnded(link, 'a', others, true)?.link).toEqual({ certainty: 'none', host: { callId: 'b' } });
  expect(afterCallEnded(link, 'a', around([], { needsHost: true }), true)).toBeUndefined();
  expect(afterCallEnded(link, 'a', around([], { needsHost: true }), false)?.link).toEqual({ certainty: 'none' });
});

test.each<[string, OpenCall[], string[], string | undefined]>([
  ['a call that its client waits for', [call('left', { waiting: false }), call('a')], ['other'], 'a'],
  ['a call whose client can be asked', [call('deaf', { effect: 'wait' }), call('a', { effect: 'reply' })], [], 'a'],
  ['a call without a question of its own', [call('asking', { asking: true }), call('a')], [], 'a'],
  [
    'another request, if its client waits for no call',
    [call('left', { waiting: false, taskId: 't' })],
    ['other'],
    'other',
  ],
  [
    'a task that its client follows',
    [call('gone', { waiting: false, taskId: 's', abandoned: true }), call('a', { waiting: false, taskId: 't' })],
    [],
    'a',
  ],
  ['the last call rather than none', [call('a', { waiting: false, asking: true })], [], 'a'],
  ['not a call that continues without its connection', [call('native', { detached: true })], [], undefined],
])('D-4: the host is %s', (_what, calls, hosts, expected) => {
  expect(chooseHost({ calls, hosts, needsHost: true })?.callId).toBe(expected);
});

test('H-6: a question that another call may have asked outlives its host', () => {
  const hosted: Link = { ...possible('a', 'b'), host: { callId: 'a' } } as Link;
  expect(outlivesCall(hosted, 'a', around([call('a'), call('b')]))).toBe(true);
  expect(outlivesCall(hosted, 'a', around([call('a')]))).toBe(false);
  expect(outlivesCall({ ...hosted, others: true } as Link, 'a', around([call('a')]))).toBe(true);
  expect(outlivesCall({ certainty: 'certain', by: { callId: 'a' } }, 'a', around([call('a'), call('b')]))).toBe(false);
});
