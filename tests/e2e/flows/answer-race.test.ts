/** An answer is on its way to the store when its question goes away. */
import { expect, test } from 'vitest';
import type { Session } from '../../../src/core/session/session.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { takeApart, taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession, send, toolCall } from '../../support/raw-http.ts';
import { soon } from './watch.ts';

const ANSWERS = {
  ask: { tool: 'respond_to_elicitation', args: { action: 'accept', content: { name: 'Ada' } } },
  sample: { tool: 'respond_to_sampling', args: { content: 'Ada' } },
};

test.each([
  ['ask', ['answer', 'cancel']],
  ['ask', ['cancel', 'answer']],
  ['sample', ['answer', 'cancel']],
  ['sample', ['cancel', 'answer']],
] as const)('H-9, T-1: an answer to `%s` that comes after a cancel is an error (%j)', async (tool, order) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const client = await rawSession(url);
  const promoted = await client.reply('execute_tool', { server: 'one', tool, args: { prompt: 'Your name?' } });
  const [question] = [...promoted.elicitations, ...promoted.samplings];
  const task_id = taskIdOf(promoted);
  const answer = ANSWERS[tool];
  const messages = {
    answer: toolCall(answer.tool, { request_id: question?.requestId, ...answer.args }, 'answer'),
    cancel: toolCall('cancel_task', { task_id }, 'cancel'),
  };
  // In one batch, so that both are handled before anything is stored.
  const batch = await send(url, { headers: client.headers, body: JSON.stringify(order.map((each) => messages[each])) });
  const replies = JSON.parse(batch.text) as { id: string; result: Json }[];
  const replyTo = (id: string): Reply => takeApart(replies.find((reply) => reply.id === id)?.result ?? {});
  expect(replyTo('cancel').body['success']).toBe(true);
  expect(replyTo('answer')).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
  expect(replyTo('answer').text).toMatch(/no longer pending: cancelled by the client|no pending/);
  await soon(() => server.state.cancelled).toHaveLength(1);
  expect((await client.reply('get_task', { task_id })).body['task']).toMatchObject({ status: 'cancelled' });
});

/** A session and a question that it was asked. */
async function asked(): Promise<{
  session: Session;
  id: string;
  withdrawn: AbortController;
  outcome: Promise<unknown>;
}> {
  const { url, gateway } = await httpGateway({});
  await rawSession(url);
  const [session] = gateway.sessions;
  if (session === undefined) throw new Error('no session');
  // Else a question outside of calls would not show.
  session.interactions.serverUsed('one');
  const withdrawn = new AbortController();
  const params = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } };
  const outcome = session.interactions
    .ask('one', { kind: 'elicitation', params, withdrawn: withdrawn.signal })
    .catch((error: unknown) => error);
  const [question] = session.interactions.list('elicitation');
  return { session, id: String(question?.id), withdrawn, outcome };
}

const DECLINE = { action: 'decline' };

test('H-9: an answer that comes after the withdrawal of its question is an error', async () => {
  const { session, id, withdrawn, outcome } = await asked();
  const answer = session.interactions.answer(id, 'elicitation', DECLINE);
  withdrawn.abort('not needed any more');
  await expect(answer).rejects.toThrow(/no longer pending: withdrawn by the server/);
  expect(await outcome).toBeInstanceOf(Error);
  expect(session.interactions.size).toBe(0);
});

test('H-9: an answer that was stored before the withdrawal reaches the server', async () => {
  const { session, id, withdrawn, outcome } = await asked();
  await session.interactions.answer(id, 'elicitation', DECLINE);
  withdrawn.abort('too late');
  expect(await outcome).toEqual(DECLINE);
});

test('H-9: an answer that comes after the end of its session is an error', async () => {
  const { session, id } = await asked();
  const answer = session.interactions.answer(id, 'elicitation', DECLINE);
  session.interactions.close('the client left', () => false);
  await expect(answer).rejects.toThrow(/no longer pending: the client left/);
});
