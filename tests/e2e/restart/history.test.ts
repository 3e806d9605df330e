import { expect, test, vi } from 'vitest';
import type { CallEntry, HistoryEntry, QuestionEntry } from '../../../src/core/history/entry.ts';
import { createLog } from '../../../src/lib/log.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import type { KillableGateway } from '../../crash/gateway.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { begin, beginAsking, beginNative, kill, killable } from './killable.ts';

/** The history as another process sees it. */
async function entriesOf({ store: path }: KillableGateway): Promise<HistoryEntry[]> {
  const store = await openSqliteStore({ path, log: createLog('silent'), shared: true });
  try {
    const kinds = ['call', 'question', 'summary'] as const;
    return await store.history.read({ kinds, order: 'oldest', limit: 1000, content: true });
  } finally {
    await store.close();
  }
}

const calls = async (gateway: KillableGateway): Promise<CallEntry[]> =>
  (await entriesOf(gateway)).filter((entry) => entry.kind === 'call');

const questions = async (gateway: KillableGateway): Promise<QuestionEntry[]> =>
  (await entriesOf(gateway)).filter((entry) => entry.kind === 'question');

test('W-4, P-2: fast calls, tasks and questions are in the history after kill -9', async () => {
  const far = owned(await startTasksV2Http());
  const near = owned(await startV1Http());
  const gateway = await killable({ far: { url: far.url }, near: { url: near.url } });
  const session = await rawSession(gateway.url);
  await session.reply('execute_tool', { server: 'near', tool: 'echo', args: { text: 'fast' } });
  const native = await beginNative(gateway, session, 'far', 'hold', { text: 'slow' });
  const asking = await beginAsking(session, 'far', 'ask', { message: 'Who?' });
  const plain = await begin(session, 'near', 'slow', { ms: 60_000 });
  await vi.waitFor(async () => expect(await entriesOf(gateway)).toHaveLength(5), { timeout: 10_000 });
  const [question] = await questions(gateway);
  await kill(gateway);
  await gateway.start();
  const after = async (): Promise<Record<string, CallEntry>> =>
    Object.fromEntries((await calls(gateway)).map((entry) => [entry.taskId ?? 'fast', entry]));
  await vi.waitFor(
    async () => {
      expect(await after()).toMatchObject({
        fast: { status: 'completed', tool: 'echo', arguments: { text: 'fast' }, view: 'hub' },
        [native.id]: { status: 'running', tool: 'hold' },
        [asking.id]: { status: 'waiting', tool: 'ask', waits: [{ questionId: question?.id }] },
        [plain.id]: { status: 'failed', tool: 'slow' },
      });
    },
    { timeout: 10_000 },
  );
  expect(await questions(gateway)).toMatchObject([{ id: question?.id, status: 'open', message: 'Who?' }]);
  const content = { name: 'Ada' };
  await session.reply('respond_to_elicitation', { request_id: question?.id, action: 'accept', content });
  await session.reply('get_task_result', { task_id: asking.id, timeout_ms: 10_000 });
  far.state.release();
  await session.reply('get_task_result', { task_id: native.id, timeout_ms: 10_000 });
  await vi.waitFor(
    async () => {
      expect(await after()).toMatchObject({
        [native.id]: { status: 'completed' },
        [asking.id]: { status: 'completed', waits: [{ questionId: question?.id, to: expect.any(Number) }] },
      });
      expect(await questions(gateway)).toMatchObject([
        { status: 'accepted', answeredBy: { principal: 'local', via: 'tools' } },
      ]);
    },
    { timeout: 10_000 },
  );
});

test('W-4, P-2: a call that was open at a kill is lost, unless it was a task', async () => {
  const near = owned(await startV1Http());
  const gateway = await killable({ near: { url: near.url } });
  const session = await rawSession(gateway.url);
  const args = { server: 'near', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 60_000 };
  const reply = session.reply('execute_tool', args).catch(() => {});
  await vi.waitFor(async () => expect(await calls(gateway)).toMatchObject([{ status: 'running' }]), {
    timeout: 10_000,
  });
  await kill(gateway);
  await reply;
  await gateway.start();
  await vi.waitFor(async () => expect(await calls(gateway)).toMatchObject([{ status: 'lost' }]), { timeout: 10_000 });
});

test('W-4: a burst of calls is summarized in the history, and a stop writes all of it', async () => {
  const near = owned(await startV1Http());
  const gateway = await killable({ near: { url: near.url } }, { history: { callsPerSecond: 2 } });
  const session = await rawSession(gateway.url);
  const echo = { server: 'near', tool: 'echo', args: { text: 'fast' } };
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 10 }, async () => session.reply('execute_tool', echo)));
  }
  await gateway.stop();
  const found = await entriesOf(gateway);
  const summarized = found.flatMap((entry) => (entry.kind === 'summary' ? [entry.count] : []));
  expect(summarized.length).toBeGreaterThan(0);
  const listed = found.filter(({ kind }) => kind === 'call').length;
  expect(listed + summarized.reduce((sum, count) => sum + count, 0)).toBe(40);
});
