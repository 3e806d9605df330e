/** A gateway that is cut off from the database, while its clients still reach it and another gateway has their sessions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresServer } from '../../postgres/server.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import { v1Asked } from '../direct/matrix/clients/v1.ts';

let postgres: PostgresServer;
let admin: Database;
let proxy: TcpProxy;

beforeAll(async () => {
  postgres = await PostgresServer.start();
  admin = await Database.open(postgres.url());
  proxy = await TcpProxy.start(postgres.port);
}, 120_000);
afterAll(async () => {
  await proxy.close();
  await admin.close();
  await postgres.remove();
});

test('K-3, K-7: an answer sent to a gateway without the database reaches the gateway that owns the session', async () => {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  const cluster = { leaseMs: 2000, drainMs: 0 };
  const a = await httpGateway(servers, { store: postgres.url(undefined, undefined, proxy.port), cluster });
  const b = await httpGateway(servers, { store: postgres.url(), cluster });
  let current = a;
  const isAnswer = (body: unknown): boolean => typeof body === 'string' && !body.includes('"method"');
  const client = await v1Asked({ url: `${a.url}/one` }, async (url, init) => {
    const { url: base } = isAnswer(init?.body) ? a : current;
    return fetch(new URL(new URL(url).pathname, base), init);
  });
  try {
    await client.call('echo', { text: 'this gateway has the session' });
    proxy.hold();
    await expect.poll(() => a.gateway.mayHaveLost).toBe(true);
    await admin.run('DELETE FROM meanwhile.leases WHERE gateway = $1', [String(a.gateway.store.cluster?.gatewayId)]);
    current = b;
    const asked = client.call('ask', { message: whoIs('Ada') });
    await expect.poll(() => client.asked).toHaveLength(1);
    // The at the first gateway now, which does not know the question.
    proxy.release();
    const { content } = await asked;
    expect(content).toEqual([{ type: 'text', text: 'Hello Ada' }]);
  } finally {
    proxy.release();
    await client.close();
  }
});
