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
} from '../../../tests/support/core.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { OwnedElsewhere } from '../errors.ts';
import { HUB_VIEW } from '../session/kind.ts';

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

test('K-3: a session that another gateway owns is not restored, and the error names the owner', async () => {
  const [one, other] = await startTwo();
  const { id } = await hubSession(one.gateway);
  const { cluster } = one.gateway.store;
  const refused = other.gateway.restore(id, 'local');
  await expect(refused).rejects.toMatchObject({ key: id, owner: { id: cluster?.gatewayId } });
  await expect(refused).rejects.toBeInstanceOf(OwnedElsewhere);
});

test('K-2: one gateway owns all states of a principal', async () => {
  const [one, other] = await startTwo();
  await one.gateway.stateOf(state('a'));
  await expect(other.gateway.stateOf(state('b'))).rejects.toMatchObject({ key: 'states:local' });
  expect(await other.gateway.stateOf(state('b', 'ada'))).toMatchObject({ principal: 'ada' });
  await one.gateway.stateOf(state('b'));
  expect(one.gateway.sessions).toHaveLength(2);
});

test('K-5: another gateway resumes the work of a dead gateway without a request of a client', async () => {
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

test('K-2: a gateway that loses a session notifies neither servers nor clients', async () => {
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

test('K-2: a gateway drops a session as soon as a commit finds that another gateway owns it', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  one.database.expireClaims();
  await other.gateway.restore(session.id, 'local');
  void startTask(session).catch(() => {});
  await expect.poll(() => one.gateway.sessions).toEqual([]);
});

test('K-5: a failed takeover is repeated at the next check', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  await startTask(session);
  await one.backends.last.last.keepAsTask();
  const { store } = other.gateway;
  const { cluster } = store;
  if (cluster === undefined) throw new Error('the store is shared');
  const done: string[] = [];
  cluster.tookOver = async () => {
    done.push('taken over');
  };
  const find = store.sessionsToResume.bind(store);
  store.sessionsToResume = async () => {
    store.sessionsToResume = find;
    done.push('failed');
    throw new Error('the database is slow');
  };
  one.database.expireClaims();
  for (const expected of [['failed'], ['failed', 'taken over']]) {
    other.clock.advance(LEASE_MS / 10);
    await expect.poll(() => done).toEqual(expected);
    await turn();
  }
  expect(other.gateway.sessions.map(({ id }) => id)).toEqual([session.id]);
  expect(other.logged).toContain('take_over_failed');
});

test('K-2: a takeover of one state of a principal also takes over the unclaimed states and their work', async () => {
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

test('K-2: a process that was suspended for longer than its lease is in doubt until it has renewed the lease', async () => {
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

test('K-2: a renewal that was sent before the process was suspended does not end the doubt', async () => {
  const [one] = await startTwo();
  const { cluster } = one.gateway.store;
  if (cluster === undefined) throw new Error('the store is shared');
  const renew = cluster.renew.bind(cluster);
  let renewals = 0;
  cluster.renew = async (usage) => {
    renewals += 1;
    if (renewals === 1) one.clock.skip(3 * LEASE_MS);
    if (renewals === 2) throw new Error('the database is away');
    return renew(usage);
  };
  expect(await one.gateway.certain()).toBe(false);
  expect(one.gateway.isInDoubt).toBe(true);
  expect(await one.gateway.certain()).toBe(true);
});

test('K-7: after an outage of the database, gateways that could not renew their leases do not count as dead', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  await startTask(session);
  await one.backends.last.last.keepAsTask();
  const { cluster } = other.gateway.store;
  if (cluster === undefined) throw new Error('the store is shared');
  const renew = cluster.renew.bind(cluster);
  cluster.renew = async () => Promise.reject(new Error('the database is down'));
  other.clock.advance(LEASE_MS / 3);
  await turn();
  cluster.renew = renew;
  one.database.expireClaims();
  other.clock.advance(LEASE_MS / 2);
  await turn();
  expect(other.gateway.sessions).toEqual([]);
  one.clock.advance(LEASE_MS / 3);
  await turn();
  other.clock.advance(LEASE_MS);
  await turn();
  expect(other.gateway.sessions).toEqual([]);
  expect(one.gateway.sessions).toEqual([session]);
});

test('K-5, K-7: a gateway stops even if the store does not respond', async () => {
  const [one] = await startTwo();
  await hubSession(one.gateway);
  const { cluster } = one.gateway.store;
  if (cluster === undefined) throw new Error('the store is shared');
  cluster.notifyWorkLeft = async () => Promise.reject(new Error('the database is down'));
  await one.gateway.drain();
  expect(one.gateway.sessions).toEqual([]);
  expect(one.logged).toContain('work_left_not_told');
});

test('K-7: a running gateway that cannot renew its lease is not in doubt', async () => {
  const [one] = await startTwo();
  const { cluster } = one.gateway.store;
  if (cluster === undefined) throw new Error('the store is shared');
  cluster.renew = async () => Promise.reject(new Error('the database is down'));
  for (let tenths = 0; tenths < 30; tenths += 1) one.clock.advance(LEASE_MS / 10);
  await turn();
  expect(one.gateway.isInDoubt).toBe(false);
  expect(one.logged).toContain('lease_not_renewed');
});

test('K-5: a stopping gateway releases idle sessions at once, and other sessions when their plain calls have ended', async () => {
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

test('K-5: a call with a native task becomes a task when its gateway stops, and continues at another gateway', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 60_000 };
  const reply = session.calls.execute(session.connection('one'), request, SILENT);
  await turn();
  await one.backends.last.last.keepAsTask();
  await one.gateway.drain();
  expect(await reply).toMatchObject({ kind: 'task', task: { status: 'working' } });
  const there = await other.gateway.restore(session.id, 'local');
  await turn();
  other.backends.last.last.answer('done');
  await turn();
  expect(there?.tasks.list()).toMatchObject([{ status: 'completed' }]);
});

test('K-5: a call that exceeds the drain time fails with the reason when its gateway stops', async () => {
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

test('K-6: a server that is added or removed at one gateway is added or removed at all gateways', async () => {
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

/** Both renew their leases. */
async function renewBoth(...cores: Core[]): Promise<void> {
  for (const { gateway } of cores) await gateway.certain();
}

test('K-6: limits apply to all gateways together, as of the last renewal of the leases', async () => {
  const settings = { sessions: { max: 3 }, tasks: { max: 2 } };
  const [one, other] = await startTwo({ settings });
  const [first] = [await hubSession(one.gateway), await hubSession(one.gateway)];
  await startTask(first);
  await renewBoth(one, other);
  const there = await hubSession(other.gateway);
  await expect(hubSession(other.gateway)).rejects.toMatchObject({
    code: 'TOOL_ERR_LIMIT',
    message: expect.stringContaining('3 sessions are open (limit sessions.max = 3)'),
  });
  await startTask(there);
  await expect(startTask(there)).rejects.toMatchObject({ message: expect.stringContaining('tasks.max = 2') });
  await one.gateway.end(first, 'the client left');
  await renewBoth(one, other);
  await hubSession(other.gateway);
  await startTask(there);
});

test('K-6: the share of a principal is reserved at all gateways, and a dead gateway frees its usage', async () => {
  const [one, other] = await startTwo({ settings: { sessions: { max: 4 } }, principals: ['ada', 'ben'] });
  for (let count = 0; count < 3; count += 1) await hubSession(one.gateway, 'ada');
  await renewBoth(one, other);
  await expect(hubSession(other.gateway, 'ada')).rejects.toMatchObject({
    message: expect.stringContaining("3 sessions of 'ada' are open"),
  });
  await hubSession(other.gateway, 'ben');
  one.database.expireClaims();
  await renewBoth(other);
  await hubSession(other.gateway, 'ada');
});

test('K-6: a takeover keeps the deadlines of tasks and questions', async () => {
  const clock = new TestClock();
  const settings = { tasks: { ttlMs: 60_000 }, questions: { timeoutMs: 40_000 } };
  const [one, other] = await startTwo({ settings, clock });
  const session = await hubSession(one.gateway);
  const task = await startTask(session);
  await one.backends.last.last.keepAsTask();
  const asking = await startTask(session);
  await one.backends.last.last.keepAsTask({ taskId: 'asks' });
  void one.backends.last.last.ask({ message: 'Size?' }, { detached: true, key: 'size' }).catch(() => {});
  await turn();
  clock.advance(30_000);
  await turn();
  one.database.expireClaims();
  const taken = await other.gateway.restore(session.id, 'local');
  if (taken === undefined) throw new Error('the session is there');
  await turn();
  const asks = other.backends.last.calls.find(({ resumedFrom }) => JSON.stringify(resumedFrom).includes('asks'));
  if (asks === undefined) throw new Error('the call goes on');
  const again = asks.ask({ message: 'Size?' }, { detached: true, key: 'size' });
  again.catch(() => {});
  await turn();
  clock.advance(9000);
  expect([task, asking].map((id) => taken.tasks.get(id).status)).toEqual(['working', 'input_required']);
  clock.advance(1000);
  await expect(again).rejects.toThrow('not answered in time');
  expect(taken.interactions.list('elicitation')).toEqual([]);
  clock.advance(19_000);
  expect(taken.tasks.get(task).status).toBe('working');
  clock.advance(1000);
  expect(taken.tasks.get(task).status).toBe('expired');
  // Its time stood still while it waited for an answer.
  expect(taken.tasks.get(asking).status).toBe('working');
  clock.advance(40_000);
  expect(taken.tasks.get(asking).status).toBe('expired');
});

test('K-2: a resumed process runs no overdue timers until it knows which sessions it still owns', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  const task = await startTask(session);
  const call = one.backends.last.last;
  await call.keepAsTask();
  await turn();
  one.database.expireClaims();
  await other.gateway.restore(session.id, 'local');
  // The task has expired by then, and is the other gateway's.
  one.clock.skip(24 * 3_600_000);
  one.clock.advance(0);
  expect(call.outgoing.signal.aborted).toBe(false);
  one.clock.advance(LEASE_MS / 20);
  await expect.poll(() => one.gateway.sessions).toEqual([]);
  one.clock.advance(LEASE_MS);
  expect(call.outgoing.signal.aborted).toBe(false);
  expect(session.tasks.find(task)?.status).toBe('working');
});

test('K-2: a gateway that has lost a session does not fail its calls, which would cancel them at the server', async () => {
  const [one, other] = await startTwo();
  const session = await hubSession(one.gateway);
  await startTask(session);
  const call = one.backends.last.last;
  await call.keepAsTask();
  await turn();
  one.database.expireClaims();
  await other.gateway.restore(session.id, 'local');
  // Before it has learned of that from the store.
  let outcome = 'none';
  call.outgoing.listener.onCheckpoint({ version: 1 }).then(
    () => (outcome = 'stored'),
    () => (outcome = 'failed'),
  );
  await expect.poll(() => one.gateway.sessions).toEqual([]);
  await turn();
  expect(outcome).toBe('none');
});
