/** Two gateways on one store, in this process. */
import { expect, test } from 'vitest';
import {
  type Core,
  type CoreOptions,
  directSession,
  hubSession,
  SILENT,
  startCore,
  startTask,
} from '../../tests/support/core.ts';
import { turn } from '../../tests/support/turn.ts';
import { OwnedElsewhere } from './errors.ts';
import { HUB_VIEW } from './session/kind.ts';

const LEASE_MS = 10_000;

async function startTwo(options: CoreOptions = {}): Promise<[Core, Core]> {
  const one = await startCore({ ...options, shared: true });
  const { database } = one;
  const other = await startCore({ ...options, shared: true, database });
  for (const { gateway } of [one, other]) await gateway.announce('http://gateway');
  await turn();
  return [one, other];
}

const state = (name: string, principal = 'local') => ({ principal, name, view: HUB_VIEW });

test('K-3: a session that another gateway has is not restored: the error says which gateway that is', async () => {
  const [one, other] = await startTwo();
  const { id } = await hubSession(one.gateway);
  const { cluster } = one.gateway.store;
  const refused = other.gateway.restore(id, 'local');
  await expect(refused).rejects.toMatchObject({ key: id, owner: { id: cluster?.gatewayId } });
  await expect(refused).rejects.toBeInstanceOf(OwnedElsewhere);
});

test('K-2: all states of a principal are at one gateway', async () => {
  const [one, other] = await startTwo();
  await one.gateway.stateOf(state('a'));
  await expect(other.gateway.stateOf(state('b'))).rejects.toMatchObject({ key: 'states:local' });
  expect(await other.gateway.stateOf(state('b', 'ada'))).toMatchObject({ principal: 'ada' });
  await one.gateway.stateOf(state('b'));
  expect(one.gateway.sessions).toHaveLength(2);
});

test('K-5: the work of a gateway that is gone goes on at another, without a client', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  const id = await startTask(session);
  await one.backends.last.last.keepAsTask();
  other.clock.advance(LEASE_MS);
  await turn();
  expect(other.gateway.sessions).toEqual([]);
  one.database.expireClaims();
  other.clock.advance(LEASE_MS / 10);
  await expect.poll(() => other.gateway.sessions.map((each) => each.id)).toEqual([session.id]);
  await turn();
  other.backends.last.last.answer('done');
  await turn();
  expect(other.gateway.sessions[0]?.tasks.get(id)).toMatchObject({ status: 'completed' });
});

test('K-2: a gateway whose sessions another one has tells neither servers nor clients of them', async () => {
  const [one, other] = await startTwo();
  const session = await directSession(one.gateway);
  const task = await startTask(session);
  await one.backends.last.last.keepAsTask();
  const answered: unknown[] = [];
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: Infinity };
  void session.calls.execute(session.connection('one'), request, SILENT).then((reply) => answered.push(reply.kind));
  const asked = one.backends.last.ask({ message: 'Size?', requestedSchema: { type: 'object', properties: {} } });
  let isAnswered = false;
  asked.then(
    () => (isAnswered = true),
    () => (isAnswered = true),
  );
  await turn();
  const ended: string[] = [];
  one.gateway.onSessionEnded.add((_, { by }) => {
    ended.push(`${by}, ${one.backends.last.status.state}`);
  });
  one.database.expireClaims();
  expect(await other.gateway.restore(session.id, 'local')).toBeDefined();
  one.clock.advance(LEASE_MS / 3);
  await expect.poll(() => one.gateway.sessions).toEqual([]);
  await turn();
  // Before its connections are closed.
  expect(ended).toEqual(['successor, connected']);
  expect(one.backends.last.closedWith).toEqual({ silently: true });
  expect(one.backends.last.told).toEqual([]);
  expect(isAnswered).toBe(false);
  expect(answered).toEqual(['cancelled']);
  expect(other.gateway.sessions[0]?.tasks.get(task).status).toBe('working');
});

test('K-2: with the states of a principal, those go that nobody has claimed yet, and their work is not lost', async () => {
  const [one, other] = await startTwo();
  const [a, b] = [await one.gateway.stateOf(state('a')), await one.gateway.stateOf(state('b'))];
  const task = await startTask(b);
  await one.backends.last.last.keepAsTask();
  one.database.expireClaims();
  await other.gateway.stateOf(state('a'));
  one.clock.advance(LEASE_MS / 3);
  await expect.poll(() => one.gateway.sessions).toEqual([]);
  await turn();
  const again = await other.gateway.stateOf(state('b'));
  expect([a.id, b.id]).toContain(again.id);
  expect(again.tasks.get(task).status).toBe('working');
});

test('K-2: a program that was stopped for longer than its lease is in doubt until it has asked', async () => {
  const [one] = await startTwo();
  one.clock.advance(LEASE_MS / 3);
  await turn();
  one.clock.skip(LEASE_MS / 2);
  expect(one.gateway.isInDoubt).toBe(false);
  one.clock.skip(LEASE_MS);
  expect(one.gateway.isInDoubt).toBe(true);
  await one.gateway.certain();
  expect(one.gateway.isInDoubt).toBe(false);
});

test('K-7: a gateway that cannot renew its lease is not in doubt while it runs', async () => {
  const [one] = await startTwo();
  const { cluster } = one.gateway.store;
  if (cluster === undefined) throw new Error('the store is shared');
  cluster.renew = async () => Promise.reject(new Error('the database is down'));
  for (let tenths = 0; tenths < 30; tenths += 1) one.clock.advance(LEASE_MS / 10);
  await turn();
  expect(one.gateway.isInDoubt).toBe(false);
  expect(one.logged).toContain('lease_not_renewed');
});

test('K-5: a gateway that stops leaves idle sessions at once, and others when their plain calls have ended', async () => {
  const [one, other] = await startTwo();
  const [idle, busy, kept] = [
    await hubSession(one.gateway),
    await hubSession(one.gateway),
    await hubSession(one.gateway),
  ];
  await startTask(kept);
  await one.backends.last.last.keepAsTask();
  const id = await startTask(busy);
  const plain = one.backends.last.last;
  const draining = one.gateway.drain();
  for (const { id: left } of [idle, kept]) {
    await expect.poll(async () => other.gateway.restore(left, 'local').catch(() => undefined)).toBeDefined();
  }
  expect(one.gateway.sessions).toEqual([busy]);
  await expect(one.gateway.restore(idle.id, 'local')).rejects.toMatchObject({ key: idle.id });
  await expect(hubSession(one.gateway)).rejects.toMatchObject({ code: 'TOOL_ERR_SHUTTING_DOWN' });
  plain.answer('done');
  await turn();
  one.clock.advance(50);
  await draining;
  const session = await other.gateway.restore(busy.id, 'local');
  expect(session?.tasks.get(id)).toMatchObject({ status: 'completed' });
});

test('K-5: a call that takes too long is lost with the gateway that stops, and says so', async () => {
  const [one, other] = await startTwo({ settings: { cluster: { drainMs: 100 } } });
  const busy = await hubSession(one.gateway);
  const id = await startTask(busy);
  const draining = one.gateway.drain();
  await turn();
  one.clock.advance(200);
  await draining;
  const session = await other.gateway.restore(busy.id, 'local');
  expect(session?.tasks.get(id)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('shutting down') },
  });
});

test('K-6: a server added at one gateway is there at all of them, and removed likewise', async () => {
  const [one, other] = await startTwo({ settings: { addServers: 'anyone' } });
  const [here, there] = [await hubSession(one.gateway), await hubSession(other.gateway)];
  await one.gateway.servers.add(here, 'two', { url: 'http://two.test/' });
  await expect.poll(() => there.servers.get('two')).toBeDefined();
  expect(there.events.take().events).toMatchObject([
    { type: 'server_added', data: { name: 'two', addedBy: 'another gateway' } },
  ]);
  await other.gateway.servers.remove(there, 'two');
  await expect.poll(() => here.servers.get('two')).toBeUndefined();
});
