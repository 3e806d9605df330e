import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { WAYS } from '../flows/doors.ts';
import { settle, soon } from '../flows/watch.ts';
import { askableOverHttp, askableThrough, withSecondDoor } from './clients.ts';

const ASK = { server: 'one', tool: 'ask' };
const KINDS = ['v1', 'v2', 'modern'] as const;
const accept = (requestId: unknown, name: string): Record<string, unknown> => ({
  request_id: requestId,
  action: 'accept',
  content: { name },
});

test.each(WAYS)('H-13: an answer at the hub beats that of the client if it comes first ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } });
  await settle(hub);
  const call = hub.call('execute_tool', ASK);
  const asked = await hub.person.question();
  // While the person thinks, the question is where it always was.
  const { elicitations } = await hub.call('list_servers');
  expect(elicitations).toMatchObject([{ server: 'one', message: 'What is your name?' }]);
  const given = await hub.call('respond_to_elicitation', accept(elicitations[0]?.requestId, 'Hub'));
  expect(given.body).toMatchObject({ success: true });
  if (way.kind === 'modern') asked.answer({ action: 'accept', content: { name: 'Person' } });
  else await soon(() => asked.withdrawn.aborted).toBe(true);
  expect((await call).text).toBe('Hello Hub');
  expect(hub.person.asked).toHaveLength(1);
});

test.each(WAYS)('H-13: an answer of the client beats that at the hub if it comes first ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } });
  await settle(hub);
  const call = hub.call('execute_tool', ASK);
  const asked = await hub.person.question();
  const { elicitations } = await hub.call('get_elicitations');
  asked.answer({ action: 'accept', content: { name: 'Person' } });
  expect((await call).text).toBe('Hello Person');
  const late = await hub.call('respond_to_elicitation', accept(elicitations[0]?.requestId, 'Hub'));
  expect(late).toMatchObject({ code: 'TOOL_ERR_REQUEST_NOT_FOUND', elicitations: [] });
  expect(asked.withdrawn.aborted).toBe(false);
});

test('H-13, H-7: await_activity reports a question at once', async () => {
  const server = owned(await startV1Http());
  const { hub, other } = await withSecondDoor('modern', { one: { url: server.url } });
  await settle(hub);
  await settle(other);
  const activity = other.call('await_activity', { timeout_ms: 10_000 });
  const call = hub.call('execute_tool', ASK);
  expect((await activity).elicitations).toMatchObject([{ message: 'What is your name?' }]);
  await hub.person.accepts({ name: 'Ole' });
  expect((await call).text).toBe('Hello Ole');
});

test.each(KINDS)('H-13, S-1: only the client that made the call is asked (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { hub, gateway } = await withSecondDoor(kind, { one: { url: server.url } });
  const stranger = await askableOverHttp(gateway.url, 'v1');
  const call = hub.call('execute_tool', ASK);
  await hub.person.question();
  expect((await stranger.call('get_elicitations')).body).toEqual({ elicitations: [] });
  await hub.person.accepts({ name: 'Pia' });
  expect((await call).text).toBe('Hello Pia');
  expect(stranger.person.asked).toEqual([]);
});

test.each(WAYS)(
  'H-13: a question that the server withdraws is withdrawn from the client ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    await settle(hub);
    const call = hub.call('execute_tool', { server: 'one', tool: 'withdraw', args: { ms: 400 } });
    const asked = await hub.person.question();
    if (way.kind === 'modern') {
      // It learns of it when it comes back with its answer.
      await soon(async () => (await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
      asked.answer({ action: 'accept', content: { name: 'late' } });
    } else await soon(() => asked.withdrawn.aborted).toBe(true);
    const reply = await call;
    expect(reply.raw.content).toEqual([{ type: 'text', text: 'withdrew' }]);
  },
);
