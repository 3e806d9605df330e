/** Calls that wait for approval at a gateway that is killed. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import type { PendingElicitation } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { begin, killable, restart } from '../restart/killable.ts';

const RULES = { rules: [{ tool: 'echo', then: 'ask' }], servers: { reconnect: { firstMs: 50, maxMs: 200 } } };

test('G-2, P-1: the question keeps its id, the approved call is sent once, and an approval is not used again', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } }, RULES);
  const session = await rawSession(gateway.url);
  const { id, reply } = await begin(session, 'one', 'echo', { text: 'hi' }, { timeout_ms: 15_000 });
  const [asked] = reply.elicitations;
  const answer = async (request_id: string | undefined) =>
    session.reply('respond_to_elicitation', { request_id, action: 'accept', content: { decision: 'allow' } });
  const received = (): unknown[] => server.state.calls.map(({ args }) => args['text']);
  await restart(gateway);
  const open = (await session.reply('get_elicitations')).body['elicitations'] as PendingElicitation[];
  expect(open).toEqual([asked]);
  expect(received()).toEqual([]);
  expect((await answer(asked?.requestId)).body).toMatchObject({ success: true });
  expect((await session.reply('get_task_result', { task_id: id })).text).toBe('hi');
  expect((await answer(asked?.requestId)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  await restart(gateway);
  expect((await session.reply('get_elicitations')).body['elicitations']).toEqual([]);
  expect(received()).toEqual(['hi']);
});
