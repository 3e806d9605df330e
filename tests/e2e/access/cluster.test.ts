/** Two gateways on one database. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresServer } from '../../postgres/server.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { handmadeIssuer } from '../../auth/issuer.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { ADA, BEN, TOKENS } from '../principals/two-hubs.ts';

let postgres: PostgresServer;
let admin: Database;

beforeAll(async () => {
  postgres = await PostgresServer.start();
  admin = await Database.open(postgres.url());
}, 120_000);
beforeEach(async () => admin.script('DROP SCHEMA IF EXISTS meanwhile CASCADE'));
afterAll(async () => {
  await admin.close();
  await postgres.remove();
});

async function twoGateways(settings: SettingsInput): Promise<{ a: TestGateway; b: TestGateway }> {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  const shared = { store: postgres.url(), cluster: { drainMs: 0, leaseMs: 1500 }, ...settings };
  return { a: await httpGateway(servers, shared), b: await httpGateway(servers, shared) };
}

test('A-N, K-6: quotas count the use at two gateways together', async () => {
  const { a, b } = await twoGateways({
    auth: { tokens: TOKENS },
    quotas: { callsPerMinute: 5, sessions: 2 },
  });
  const atA = await LegacyWire.open(`${a.url}/one`, { headers: ADA });
  const atB = await LegacyWire.open(`${b.url}/one`, { headers: ADA });
  for (let call = 0; call < 3; call += 1) await atA.call('echo', { text: 'x' });
  for (let call = 0; call < 2; call += 1) await atB.call('echo', { text: 'x' });
  // The gateways tell each other with the next renewals of their leases.
  await expect
    .poll(async () => (await atA.error('tools/call', { name: 'echo', arguments: { text: 'y' } }))?.data, {
      timeout: 20_000,
      interval: 300,
    })
    .toMatchObject({ quota: 'callsPerMinute', limit: 5 });
  await expect
    .poll(async () => (await atB.error('tools/call', { name: 'echo', arguments: { text: 'y' } }))?.data, {
      timeout: 20_000,
      interval: 300,
    })
    .toMatchObject({ quota: 'callsPerMinute' });
  await expect(LegacyWire.open(`${b.url}/one`, { headers: ADA })).rejects.toThrow('quotas.sessions = 2');
  const ben = await LegacyWire.open(`${b.url}/one`, { headers: BEN });
  expect(await ben.call('echo', { text: 'his' })).toMatchObject({ content: [{ text: 'his' }] });
});

test('A-P: a forwarded request is authorized by its own token', async () => {
  const publicUrl = 'https://gateway.example.com';
  const issuer = await handmadeIssuer(`${publicUrl}/mcp`);
  const { a, b } = await twoGateways({
    publicUrl,
    auth: { issuers: [{ issuer: issuer.url }] },
    access: [
      { claims: { groups: 'engineering' }, then: 'allow' },
      { servers: ['one'], tools: ['echo'], then: 'allow' },
    ],
  });
  const headersOf = async (claims: Record<string, unknown>): Promise<Record<string, string>> => ({
    authorization: `Bearer ${await issuer.token(claims)}`,
  });
  const [wide, narrow] = [await headersOf({ groups: ['engineering'] }), await headersOf({ groups: ['sales'] })];
  const owner = new ModernWire(`${a.url}/one`, { headers: wide });
  expect(await owner.call('slow', { ms: 1 })).toMatchObject({ content: [{ type: 'text' }] });
  // The first gateway has the states of the principal, so the other one forwards to it.
  const [farWide, farNarrow] = [
    new ModernWire(`${b.url}/one`, { headers: wide }),
    new ModernWire(`${b.url}/one`, { headers: narrow }),
  ];
  expect(await farWide.call('slow', { ms: 1 })).toMatchObject({ content: [{ type: 'text' }] });
  expect(await farNarrow.error('tools/call', { name: 'slow', arguments: { ms: 1 } })).toMatchObject({ code: -32602 });
  expect(await farNarrow.call('echo', { text: 'ok' })).toMatchObject({ content: [{ text: 'ok' }] });
  expect(await farWide.call('slow', { ms: 1 })).toMatchObject({ content: [{ type: 'text' }] });
});
