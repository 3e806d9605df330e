import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../tests/support/memory-store.ts';
import { RpcError } from '../lib/rpc-error.ts';
import { notifyWhenStored, passOn, replyWhenStored, report, ReportedError, type Reply } from './commit-gate.ts';

const RESULT = { content: [] };

/** A reply that is on its way, and what has come out of it so far. */
function start(session: MemoryStore, work: () => Promise<Reply>) {
  const outcome: { left?: unknown } = {};
  const over = replyWhenStored(session, work).then(
    (result) => (outcome.left = result),
    (error: unknown) => (outcome.left = error),
  );
  return { outcome, over };
}

test('P-3: a reply is sent after the state that it reports is stored', async () => {
  const session = new MemoryStore();
  const { release } = session.hold();
  const { outcome, over } = start(session, async () => report(session, RESULT));
  await nextTurn();
  expect(outcome).toEqual({});
  release();
  expect(await over).toBe(RESULT);
});

test('P-3: a reply waits for every session that it reports on', async () => {
  const [own, other] = [new MemoryStore(), new MemoryStore()];
  const { release } = other.hold();
  const { outcome, over } = start(own, async () => ({ result: RESULT, reports: [own, other] }));
  await nextTurn();
  expect(outcome).toEqual({});
  release();
  expect(await over).toBe(RESULT);
});

test('P-3: an error that reports the end of a task waits for the store, and other errors do not', async () => {
  const session = new MemoryStore();
  const { release } = session.hold();
  const failed = new ReportedError(-32000, 'the task failed');
  const unknown = new RpcError(-32602, 'not found');
  const waiting = start(session, async () => Promise.reject(failed));
  const other = start(session, async () => Promise.reject(unknown));
  expect(await other.over).toBe(unknown);
  expect(waiting.outcome).toEqual({});
  release();
  expect(await waiting.over).toBe(failed);
});

test('P-3: a relayed result is sent even while nothing can be stored', async () => {
  const session = new MemoryStore();
  session.hold();
  expect(await replyWhenStored(session, async () => passOn(RESULT))).toBe(RESULT);
});

test('P-3: a reply whose state cannot be stored becomes an error or the given alternative', async () => {
  const session = new MemoryStore();
  session.hold().fail(new Error('disk full'));
  const failing = start(session, async () => report(session, RESULT));
  expect(await failing.over).toMatchObject({ code: 'TOOL_ERR_STORE', message: expect.stringContaining('disk full') });
  const instead = { content: ['instead'] };
  expect(await replyWhenStored(session, async () => ({ ...report(session, RESULT), otherwise: () => instead }))).toBe(
    instead,
  );
});

test('P-3: a notification is sent after its state is stored, and not if storing fails', async () => {
  const session = new MemoryStore();
  const sent: string[] = [];
  const { release } = session.hold();
  notifyWhenStored(session, () => sent.push('stored'));
  await nextTurn();
  expect(sent).toEqual([]);
  release();
  await nextTurn();
  session.hold().fail(new Error('disk full'));
  notifyWhenStored(session, () => sent.push('not stored'));
  await nextTurn();
  expect(sent).toEqual(['stored']);
});
