import { expect, test } from 'vitest';
import { LEAVE_RUNNING, type CallOutcome, type OutgoingCall } from '../core/ports/connection.ts';
import { turn } from '../../tests/support/turn.ts';
import { Following, type Running } from './following.ts';

const RESULT: CallOutcome = { kind: 'result', result: { content: [] } };
const HOOKS = { onTask: () => {}, onProgress: () => {} };

/** A call that the test ends. */
function started(following: Following, { quiet = false, taskId }: { quiet?: boolean; taskId?: string } = {}) {
  const running: Running = { toolName: 'work', params: {}, stop: new AbortController(), ...(taskId && { taskId }) };
  let end = (_outcome: CallOutcome): void => {};
  let fail = (_error: Error): void => {};
  let sent: OutgoingCall | undefined;
  const followed = following.begin(running, quiet, HOOKS, (call) => {
    sent = call;
    return new Promise((resolve, reject) => {
      end = resolve;
      fail = reject;
    });
  });
  return { followed, running, id: sent?.id ?? '', end, fail };
}

test('C-1: a call is known until it has ended', async () => {
  const following = new Following();
  const { followed, id, end } = started(following, { taskId: 't' });
  expect(following.byCall(id)).toBe(followed);
  expect(following.byTask('t')).toBe(followed);
  end(RESULT);
  expect(await followed.end).toEqual(RESULT);
  await turn();
  expect([following.byCall(id), following.byTask('t')]).toEqual([undefined, undefined]);
});

test('C-1: an error that the call throws ends the call', async () => {
  const { followed, fail } = started(new Following());
  fail(new Error('no such program'));
  expect(await followed.end).toMatchObject({ kind: 'error', message: 'no such program' });
});

test('C-1: a cancelled call ends as cancelled, unless its result came first', async () => {
  const following = new Following();
  const cancelled = started(following);
  cancelled.running.stop.abort(new Error('enough'));
  cancelled.end({ kind: 'error', error: { code: -32000, message: 'cancelled' } });
  expect(await cancelled.followed.end).toMatchObject({ kind: 'cancelled', message: 'the call was cancelled' });
  const late = started(following);
  late.running.stop.abort(new Error('enough'));
  late.end(RESULT);
  expect(await late.followed.end).toEqual(RESULT);
});

test('C-1: a cancelled task is no longer followed', () => {
  const following = new Following();
  const { running } = started(following, { taskId: 't' });
  running.stop.abort(new Error('enough'));
  expect(following.byTask('t')).toBeUndefined();
});

test('C-1: if one of several callers stops waiting, the task continues for the others', async () => {
  const following = new Following();
  const { followed, running, end } = started(following, { quiet: true, taskId: 't' });
  const leaver = new AbortController();
  const left = following.endOf(followed, leaver.signal).catch((error: Error) => error.message);
  const stays = following.endOf(followed, undefined);
  leaver.abort();
  expect(await left).toBe('the caller stopped waiting');
  expect(running.stop.signal.aborted).toBe(false);
  end(RESULT);
  expect(await stays).toEqual(RESULT);
});

test('C-1: when the last caller stops waiting for a task that is only awaited, the client stops following the task', async () => {
  const following = new Following();
  const { followed, running } = started(following, { quiet: true, taskId: 't' });
  const leaver = new AbortController();
  const left = following.endOf(followed, leaver.signal).catch(() => {});
  leaver.abort();
  await left;
  expect(running.stop.signal.reason).toBe(LEAVE_RUNNING);
});

test('C-1: a call of the client itself continues without readers', async () => {
  const following = new Following();
  const { followed, running } = started(following);
  const leaver = new AbortController();
  const left = following.endOf(followed, leaver.signal).catch(() => {});
  leaver.abort();
  await left;
  expect(running.stop.signal.aborted).toBe(false);
});

test.each([
  { kind: 'lost', reason: 'closed' },
  { kind: 'unreachable', reason: 'closed' },
] as const)('C-1: a call that a disconnect interrupts ends as lost, not as failed: %j', async (outcome) => {
  const following = new Following();
  const { followed, end } = started(following);
  following.leave();
  expect(following.left).toBe(true);
  end(outcome);
  expect(await followed.end).toMatchObject({ kind: 'lost', message: 'disconnected before the end' });
});

test('C-1: a call that begins after the disconnect ends with the reason why it cannot be made', async () => {
  const following = new Following();
  following.leave();
  const { followed, end } = started(following);
  end({ kind: 'unreachable', reason: 'the connection is closed' });
  expect(await followed.end).toEqual({ kind: 'unreachable', reason: 'the connection is closed' });
});

test('C-1: a call that the client lets go continues on the server', async () => {
  const following = new Following();
  const { followed, running, end } = started(following);
  following.leave();
  following.letGo();
  expect(running.stop.signal.reason).toBe(LEAVE_RUNNING);
  end({ kind: 'error', error: { code: -32000, message: 'cancelled' } });
  expect(await followed.end).toMatchObject({ kind: 'lost' });
});
