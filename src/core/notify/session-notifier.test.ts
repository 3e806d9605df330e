import { expect, test } from 'vitest';
import { hubSession, SILENT, startCore } from '../../../tests/support/core.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import type { Task } from '../task/task.ts';
import type { NotedQuestion, Notifier } from './notifier.ts';
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

test('N-1: people are told of questions for people, with the tool of the call or task that asks', () => {
  const { notifier, open } = recording();
  const call = { request: { tool: 'pay', args: { amount: 5 } } } as unknown as LiveCall;
  const task = { tool: 'refund', args: {} } as unknown as Task;
  const session = new SessionNotifier(notifier, {
    id: 's',
    principal: 'ann',
    live: { get: (id) => (id === 'c' ? call : undefined) },
    tasks: { find: (id) => (id === 't' ? task : undefined) },
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

test('N-4: a call with a webhook is refused by a gateway that notifies nobody', async () => {
  const { gateway } = await startCore();
  const session = await hubSession(gateway);
  const meta = { 'meanwhile/webhook': 'https://ci.test/' };
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 1, meta };
  await expect(session.calls.execute(session.connection('one'), request, SILENT)).rejects.toThrow(
    'notify.taskWebhooks',
  );
  await turn();
});
