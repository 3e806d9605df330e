/** Programs on one database: one of them is killed while it sends a message. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresServer } from '../../postgres/server.ts';
import { KillableGateway } from '../../crash/gateway.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { defer } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { Receiver } from '../../support/receiver.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { servers } from '../console/setup.ts';
import { begin, kill } from '../restart/killable.ts';
import { nextTold, target } from './setup.ts';

// Others wait for the lease of the killed one, the time that a target may take, and five seconds more.
vi.setConfig({ testTimeout: 120_000 });

let postgres: PostgresServer;
let admin: Database;
beforeAll(async () => {
  postgres = await PostgresServer.start();
  admin = await Database.open(postgres.url());
}, 120_000);
afterAll(async () => {
  await admin.close();
  await postgres.remove();
});

const states = async (): Promise<unknown[]> =>
  (await admin.read('SELECT state FROM meanwhile.outbox')).map(({ state }) => state);

test('N-3: a message that a killed gateway was sending is sent once by another gateway', async () => {
  const hook = await Receiver.start();
  // The killed one never hears that its message has arrived.
  hook.replies = ['hang'];
  const { config } = await servers();
  const settings = {
    logLevel: 'debug',
    cluster: { leaseMs: 1000, drainMs: 0 },
    notify: { targets: { hook: target(hook, { events: ['task'] }) } },
  };
  const start = async (): Promise<KillableGateway> => {
    const folder = await temporaryFolder();
    const options = { program: QUICK_PROGRAM, folder, servers: config, settings, store: postgres.url() };
    const gateway = await KillableGateway.prepare(options);
    defer(() => gateway.stop());
    await gateway.start();
    return gateway;
  };
  const killed = await start();
  const session = await rawSession(killed.url);
  const { id } = await begin(session, 'old', 'slow', { ms: 1000 });
  const first = await nextTold(hook, 'task.ended');
  expect(first.data['taskId']).toBe(id);
  await kill(killed);
  const others = [await start(), await start()];
  await expect.poll(() => hook.received.length, { timeout: 60_000, interval: 100 }).toBe(2);
  const delivered = (): string[] => others.flatMap(({ log }) => log.filter((line) => line.includes('n_delivered"')));
  await expect.poll(() => delivered().length).toBe(1);
  const [, second] = hook.received;
  expect(second?.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(second?.body).toMatchObject({ type: 'task.ended', data: { taskId: id } });
  // It is on record, so nobody sends it again: neither of the two, nor one that starts now.
  await expect.poll(states).toEqual(['delivered']);
  others.push(await start());
  const { id: next } = await begin(await rawSession(others[2]?.url ?? ''), 'old', 'slow', { ms: 1000 });
  expect((await nextTold(hook, 'task.ended')).data['taskId']).toBe(id);
  expect((await nextTold(hook, 'task.ended')).data['taskId']).toBe(next);
  await expect.poll(states).toEqual(['delivered', 'delivered']);
  expect(hook.received).toHaveLength(3);
  expect(delivered()).toHaveLength(2);
});
