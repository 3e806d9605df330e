import { expect, test } from 'vitest';
import { hubSession, SILENT, startCore } from '../../../tests/support/core.ts';
import { MemoryStore } from '../../../tests/support/memory-store.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import type { SessionStore } from '../ports/store.ts';
import type { EndedTask, Task } from '../task/task.ts';
import type { NotedQuestion, NotedTask, Notifier } from './notifier.ts';
import { SessionNotifier } from './session-notifier.ts';

function recording(): { notifier: Notifier; open: NotedQuestion[] } {
  const open: NotedQuestion[] = [];
  const notifier = { questionOpen: (question: NotedQuestion) => open.push(question) } as unknown as Notifier;
  return { notifier, open };
}

const ASKED: OpenInteraction = {
  id: 'q',
  sessionId: 's',
  server: 'bank',
  kind: 'elicitation',
  params: { message: 'Pay?' },
  createdAt: 1,
  expiresAt: 2,
  link: { certainty: 'none' },
  audience: 'anyone',
  status: 'open',
};

test('N-1: people are notified of questions for people, with the tool of the call or task that asks', () => {
  const { notifier, open } = recording();
  const call = { request: { tool: 'pay', args: { amount: 5 } } } as unknown as LiveCall;
  const task = { tool: 'refund', args: {} } as unknown as Task;
  const session = new SessionNotifier(notifier, {
    id: 's',
    principal: 'ann',
    live: { get: (id) => (id === 'c' ? call : undefined) },
    tasks: { find: (id) => (id === 't' ? task : undefined) },
    store: new MemoryStore(),
    clock: new TestClock(),
  });
  session.questionChanged(ASKED, true);
  session.questionChanged({ ...ASKED, link: { certainty: 'certain', by: { callId: 'c' } } }, false);
  session.questionChanged({ ...ASKED, link: { certainty: 'certain', by: { callId: 'c', taskId: 't' } } }, false);
  expect(open).toMatchObject([
    { id: 'q', principal: 'ann', sessionId: 's', mode: 'form', message: 'Pay?', tool: undefined },
    { tool: 'pay', args: { amount: 5 } },
    { tool: 'refund' },
  ]);
  // The client does not see it, its program answers it, or its model does.
  session.questionChanged({ ...ASKED, audience: 'none' }, false);
  session.questionChanged({ ...ASKED, kind: 'roots' }, false);
  session.questionChanged({ ...ASKED, kind: 'sampling' }, true);
  expect(open).toHaveLength(3);
  session.questionChanged({ ...ASKED, kind: 'sampling' }, false);
  expect(open).toHaveLength(4);
});

function ending(store: Pick<SessionStore, 'settled' | 'recorded' | 'isLost'>) {
  const told: string[] = [];
  const notifier = { taskEnded: ({ task }: NotedTask) => told.push(task.id) } as unknown as Notifier;
  const clock = new TestClock();
  const nothing = { live: { get: () => undefined }, tasks: { find: () => undefined } };
  const session = new SessionNotifier(notifier, { id: 's', principal: 'ann', ...nothing, store, clock });
  session.taskEnded({ id: 't', status: 'completed' } as EndedTask);
  return { told, clock };
}

test('N-3: the end of a task is notified after it is stored, and not by a gateway that has lost the session', async () => {
  const [kept, lost] = [new MemoryStore(), new MemoryStore()];
  const [keeping, losing] = [kept.shared(), lost.shared()];
  const [first, second] = [ending(kept), ending(lost)];
  await turn();
  expect([first.told, second.told]).toEqual([[], []]);
  keeping.release();
  losing.fail(new Error('another gateway has the session'));
  await turn();
  expect([first.told, second.told]).toEqual([['t'], []]);
  const { told } = ending({ settled: async () => {}, isLost: true });
  await turn();
  expect(told).toEqual([]);
});

test('N-3: the end of a task is notified after the store recovers, with a limited number of retries', async () => {
  let failures = 3;
  const settled = async (): Promise<void> => {
    failures -= 1;
    if (failures >= 0) throw new Error('disk full');
  };
  const { told, clock } = ending({ settled });
  for (let second = 0; second < 2; second += 1) {
    await turn();
    clock.advance(1000);
  }
  await turn();
  expect(told).toEqual([]);
  clock.advance(1000);
  await turn();
  expect(told).toEqual(['t']);
  const never = ending({ settled: async () => Promise.reject(new Error('disk full')) });
  for (let second = 0; second < 60; second += 1) {
    await turn();
    never.clock.advance(1000);
  }
  await turn();
  expect([never.told, never.clock.armed]).toEqual([[], 0]);
});

test('N-4: a call with a webhook is refused if the gateway has no task webhooks', async () => {
  const { gateway } = await startCore();
  const session = await hubSession(gateway);
  const meta = { 'meanwhile/webhook': 'https://ci.test/' };
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 1, meta };
  await expect(session.calls.execute(session.connection('one'), request, SILENT)).rejects.toThrow(
    'notify.taskWebhooks',
  );
  await turn();
});
