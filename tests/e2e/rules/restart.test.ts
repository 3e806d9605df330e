/** Calls that wait for approval at a gateway that is killed. */
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import type { PendingElicitation } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { post, postAndLeave, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';
import { begin, killable, restart } from '../restart/killable.ts';

const RULES = { rules: [{ tool: 'echo', then: 'ask' }], servers: { reconnect: { firstMs: 50, maxMs: 200 } } };

test('G-2, P-1: an approval keeps its id over a kill, sends the call once and is not reused', async () => {
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

test('G-2, P-1: a call at a direct endpoint that waits for approval is found again after a kill', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } }, RULES);
  const hub = await rawSession(gateway.url);
  const direct = await rawSession(`${gateway.url}/one`);
  const call = toolCall('echo', { text: 'hi' });
  const left = postAndLeave(`${gateway.url}/one`, call, direct.headers);
  const open = async (): Promise<PendingElicitation[]> =>
    (await hub.reply('get_elicitations')).body['elicitations'] as PendingElicitation[];
  const asked = await vi.waitFor(async () => {
    const found = await open();
    expect(found).toHaveLength(1);
    return found;
  });
  await restart(gateway);
  left.destroy();
  expect((await open()).map(({ requestId }) => requestId)).toEqual(asked.map(({ requestId }) => requestId));
  const again = post(`${gateway.url}/one`, call, direct.headers);
  const content = { decision: 'allow' };
  const request_id = asked[0]?.requestId;
  await hub.reply('respond_to_elicitation', { request_id, action: 'accept', content });
  const { text, raw } = replyOf(await again);
  expect(text).toBe('hi');
  expect(raw['_meta']).toHaveProperty('meanwhile/takenOver');
  expect(server.state.calls).toHaveLength(1);
});
