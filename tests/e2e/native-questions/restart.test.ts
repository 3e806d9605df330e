import { expect, test, vi } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { hubOverHttp, takeApart, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { killable, restart, rows } from '../restart/killable.ts';
import { replyOfResult, roundIn, roundOf, type RoundAsked } from './by-hand.ts';
import { askableOverHttp } from './clients.ts';
import { rawCall } from './raw-call.ts';

const ASK = { server: 'one', tool: 'ask' };

const STANDING = [
  { by: 'in rounds', start: async () => startV2Http({ era: 'modern' }) },
  { by: 'as a task of 2025-11-25', start: async () => startTasksV1Http() },
  { by: 'as a task of the extension', start: async () => startTasksV2Http() },
];

function accepting({ inputRequests, requestState }: RoundAsked, content: Json): Json {
  const answers = Object.keys(inputRequests).map((key) => [key, { action: 'accept', content }]);
  return { requestState, inputResponses: Object.fromEntries(answers) as Json };
}

test.each(STANDING.flatMap((server) => (['native', 'both'] as const).map((via) => ({ ...server, via }))))(
  'H-13, P-2: a round from before a kill can be answered after it ($by, $via)',
  async ({ start, via }) => {
    const server = owned(await start());
    const gateway = await killable({ one: { url: server.url } }, { questions: { via } });
    const round = roundIn(await roundOf(gateway.url, ASK));
    await vi.waitFor(() => expect(rows(gateway.store, 'tasks')).toMatchObject([{ checkpoint: {} }]), {
      timeout: 10_000,
    });
    await restart(gateway);
    // Nobody knows whether its client comes back.
    const other = await hubOverHttp(gateway.url, 'modern');
    const { elicitations } = await other.call('get_elicitations');
    expect(elicitations).toMatchObject([{ message: 'What is your name?' }]);
    const reply = replyOfResult(await roundOf(gateway.url, ASK, accepting(round, { name: 'Ivo' })));
    expect(reply.text).toBe('Hello Ivo');
    expect((await other.call('list_tasks', { include_completed: true })).body).toEqual({ tasks: [] });
  },
);

test('H-13, P-2: the answer to a call that was lost with a killed gateway gets an error with that reason', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const round = roundIn(await roundOf(gateway.url, ASK));
  await restart(gateway);
  const reply = replyOfResult(await roundOf(gateway.url, ASK, accepting(round, { name: 'Jan' })));
  expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(reply.text).toContain('gateway restarted');
});

test('H-13, P-2: the capabilities of a client with a session are known after a restart', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const before = await askableOverHttp(gateway.url, 'v1');
  const session = String(before.sessionId());
  await restart(gateway);
  const { messages, send, ended } = await rawCall(gateway.url, ASK, session);
  await vi.waitFor(() => expect(messages()).toMatchObject([{ method: 'elicitation/create' }]), { timeout: 10_000 });
  const [asked] = messages();
  await send({ jsonrpc: '2.0', id: asked?.['id'], result: { action: 'accept', content: { name: 'Kai' } } });
  await ended;
  expect(takeApart(messages().at(-1)?.['result'] as Json).text).toBe('Hello Kai');
});

test('H-13, S-4: a gateway that stops does not wait for a call whose client still waits', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ one: { url: server.url } });
  const round = roundIn(await roundOf(gateway.url, ASK));
  await vi.waitFor(() => expect(rows(gateway.store, 'tasks')).toMatchObject([{ checkpoint: {} }]), { timeout: 10_000 });
  // The answer cannot be handed on, so the call goes on, and its client waits.
  await server.stop();
  const waiting = roundOf(gateway.url, ASK, accepting(round, { name: 'Lea' })).catch(String);
  await vi.waitFor(() => expect(rows(gateway.store, 'questions')).toMatchObject([{ status: 'accepted' }]), {
    timeout: 10_000,
  });
  expect(await gateway.stop()).toBe(0);
  await waiting;
  expect(rows(gateway.store, 'tasks')).toMatchObject([{ checkpoint: {} }]);
});
