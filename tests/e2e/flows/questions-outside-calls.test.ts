/** Questions that belong to no call: of background jobs, at the start of a server, or through proxies that send them to all. */
import { ElicitResultSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import type { Session } from '../../../src/core/session/session.ts';
import { nameForm } from '../../servers/shared/forms.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { heard } from '../../support/unasked.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { settle, soon } from './watch.ts';

const KINDS = ['v1', 'modern'] as const;

/** Asks all clients at once, as a proxy does that does not know whom its server means; the first answer that comes. */
function askAll({ state }: V1Http): { answer: Promise<ElicitResult> } {
  const request = { method: 'elicitation/create' as const, params: nameForm() };
  const asked = [...state.sessions].map((session) =>
    session.server.request(request, ElicitResultSchema, { timeout: 600_000 }),
  );
  const answer = Promise.race(asked);
  answer.catch(() => {});
  return { answer };
}

/** A gateway whose sessions hear what the server says outside of calls. */
async function stage(settings: Json = {}) {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } }, settings);
  const join = async (kind: (typeof KINDS)[number] = 'v1'): Promise<{ hub: HubClient; session: Session }> => {
    const before = new Set(gateway.sessions);
    const hub = await hubOverHttp(url, kind);
    await hub.call('list_servers');
    const session = gateway.sessions.find((each) => !before.has(each));
    if (session === undefined) throw new Error('no session');
    await heard(server, session, 'one');
    return { hub, session };
  };
  return { server, url, gateway, join };
}

/** What a client is told that has nothing to do with the question. */
async function toldOf(hub: HubClient): Promise<Pick<Reply, 'elicitations' | 'events'>> {
  const { elicitations, events } = await hub.call('list_tasks');
  return { elicitations, events: events.filter(({ type }) => type.startsWith('elicitation')) };
}

const accept = async (hub: HubClient, requestId: string | undefined): Promise<void> => {
  const args = { request_id: requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', args)).body).toMatchObject({ success: true });
};

test('H-5, S-1: a question sent to all clients is shown only to the client with an open call', async () => {
  const { server, join } = await stage();
  const idle = await join();
  const busy = await join();
  const call = busy.hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 1500 } });
  await soon(() => server.state.calls.map(({ tool }) => tool)).toContain('slow');
  const { answer } = askAll(server);
  const promoted = await call;
  expect(promoted.elicitations).toMatchObject([{ message: 'What is your name?', taskId: taskIdOf(promoted) }]);
  await soon(() => idle.session.interactions.size).toBe(1);
  expect(await toldOf(idle.hub)).toEqual({ elicitations: [], events: [] });
  expect((await idle.hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  const activity = await idle.hub.call('await_activity', { timeout_ms: 100 });
  expect(JSON.stringify(activity.raw)).not.toContain('What is your name?');
  // An error of the idle client would reach the server before the answer of the other one.
  await accept(busy.hub, promoted.elicitations[0]?.requestId);
  expect(await answer).toMatchObject({ action: 'accept', content: { name: 'Ada' } });
});

test.each(KINDS)('H-5: a question that comes after a call is shown (%s)', async (kind) => {
  const { server, join } = await stage();
  const { hub } = await join(kind);
  await settle(hub);
  const { answer } = askAll(server);
  await soon(async () => (await hub.call('get_elicitations')).elicitations.length).toBe(1);
  const [question] = (await hub.call('get_elicitations')).elicitations;
  await accept(hub, question?.requestId);
  expect(await answer).toMatchObject({ action: 'accept' });
});

test.each([
  ['execute_tool', { server: 'one', tool: 'echo', args: { text: 'hello' } }],
  ['read_resource', { server: 'one', uri: 'test://text' }],
  ['list_tools', { server: 'one' }],
])('H-5: a question from before the first use of its server is shown with that use (%s)', async (tool, args) => {
  const { server, join } = await stage();
  const { hub, session } = await join();
  const { answer } = askAll(server);
  await soon(() => session.interactions.size).toBe(1);
  expect(await toldOf(hub)).toEqual({ elicitations: [], events: [] });
  const reply = await hub.call(tool, args);
  expect(reply.elicitations).toMatchObject([{ message: 'What is your name?' }]);
  await accept(hub, reply.elicitations[0]?.requestId);
  expect(await answer).toMatchObject({ action: 'accept' });
});

test('H-5: a question that was never shown ends without an event', async () => {
  const { server, join } = await stage({ questions: { timeoutMs: 300 } });
  const { hub } = await join();
  await expect(askAll(server).answer).rejects.toThrow(/not answered/);
  expect(await toldOf(hub)).toEqual({ elicitations: [], events: [] });
});

test('D-7, H-5: a question to an idle direct client appears at the hub when that client becomes active', async () => {
  const { server, url, gateway } = await stage();
  const wire = await LegacyWire.open(`${url}/one`, { capabilities: {} });
  await wire.request('tools/list');
  const direct = gateway.sessions.find(({ view }) => view.kind === 'direct');
  const hub = await hubOverHttp(url, 'modern');
  const { answer } = askAll(server);
  await soon(() => direct?.interactions.size).toBe(1);
  expect(await toldOf(hub)).toEqual({ elicitations: [], events: [] });
  await wire.call('echo', { text: 'hello' });
  const { elicitations } = await hub.call('get_elicitations');
  await accept(hub, elicitations[0]?.requestId);
  expect(await answer).toMatchObject({ action: 'accept' });
});
