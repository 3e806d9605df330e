/** The program is killed between a question, the queue and the message. */
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { Receiver } from '../../support/receiver.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { beginAsking, kill, killable, restart } from '../restart/killable.ts';
import { nextTold, target } from './setup.ts';

test('N-3: after a kill waiting messages are sent, and a message that is sent again keeps its id', async () => {
  const [now, later] = [await Receiver.start(), await Receiver.start()];
  const server = owned(await startTasksV2Http());
  const targets = {
    now: target(now, { answerLinks: true }),
    later: target(later, { afterMs: 60_000, events: ['question', 'expiring'] }),
  };
  const gateway = await killable({ ext: { url: server.url } }, { notify: { targets } });
  const session = await rawSession(gateway.url);
  const { id, reply } = await beginAsking(session, 'ext', 'ask', { message: 'Who?' });
  const { headers, data } = await nextTold(now, 'question.opened');
  expect(data['questionId']).toBe(reply.elicitations[0]?.requestId);
  // Delivered is on record a moment later.
  await expect.poll(() => gateway.log.join('\n')).toContain('session_created');
  await kill(gateway);
  expect(later.received).toEqual([]);
  await gateway.start(61_000);
  const told = await nextTold(later, 'question.opened');
  expect(told.data['questionId']).toBe(data['questionId']);
  // The link from before the kill answers it.
  const link = String(data['answerLink']);
  const form = new URLSearchParams({ 'field-0': 'Ada', action: 'accept' });
  const answered = await fetch(link, { method: 'POST', body: form });
  expect([answered.status, await answered.text()]).toEqual([200, expect.stringContaining('Your answer was sent')]);
  expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 })).text).toBe('Hello Ada');
  await restart(gateway, 600_000);
  expect((await fetch(link)).status).toBe(410);
  expect(later.received).toHaveLength(1);
  // At least once: a kill between the message and its record sends it again, under the same id.
  expect(new Set(now.received.map(({ headers: sent }) => sent['webhook-id']))).toEqual(
    new Set([headers['webhook-id']]),
  );
});
