/**
 * CPU time that authorization adds to a fast call: checking an access token that was checked before, deciding by access rules, and
 * counting by quotas. `node --import tsx bench/access.ts`
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createIssuers, createVerifier } from '../src/auth/verifier.ts';
import { Access, type AccessRule } from '../src/core/access/access.ts';
import { factReader } from '../src/core/access/whom.ts';
import { Budget } from '../src/core/budget.ts';
import { Quotas } from '../src/core/quota/quotas.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createLog } from '../src/lib/log.ts';

/** Many short rounds: some are disturbed by others, and the least disturbed one counts. */
const ROUNDS = 60;
const CALLS = 2000;

function measure(what: string, work: () => void): void {
  const micros = Array.from({ length: ROUNDS }, () => {
    const begun = process.cpuUsage();
    for (let call = 0; call < CALLS; call += 1) work();
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / CALLS;
  });
  console.log(`${what}: ${Math.min(...micros).toFixed(2)} µs`);
}

const rules: AccessRule[] = [
  ...Array.from({ length: 50 }, (_, n): AccessRule => ({
    principals: [`team-${n}-*`],
    servers: [`db-${n}`],
    then: 'allow',
  })),
  { claims: { groups: 'engineering' }, servers: ['github'], then: 'allow' },
];

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] };
const server = createServer((_req, res) => res.end(JSON.stringify(keys))).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const issuer = { issuer: url, jwksUrl: url, audiences: [], principalClaim: 'sub', scopeClaim: 'scope' };
const settings = { issuers: [issuer], scopes: { use: 'mcp:use', answer: 'mcp:answer', operate: 'mcp:operate' } };
const issuers = createIssuers(settings, systemClock, createLog('error'), factReader(rules));
const verifier = createVerifier(issuers, systemClock);
const claims = { scope: 'mcp:use', groups: ['engineering', 'people'], email: 'ada@example.com', name: 'x'.repeat(500) };
const token = await new SignJWT(claims)
  .setProtectedHeader({ alg: 'ES256', kid: 'one' })
  .setIssuer(url)
  .setSubject('ada')
  .setAudience('https://gateway.example.com/mcp')
  .setExpirationTime('1h')
  .sign(privateKey);
const { principal, facts } = await verifier.verify(token);
server.close();
server.closeAllConnections();

measure(`a token of ${token.length} characters that was checked before`, () => void verifier.verify(token));

const access = new Access(rules);
const inSession = access.forSession({ principal, facts, isShared: () => true, onChange: () => {} });
measure(`a call under ${rules.length} access rules`, () => {
  const leave = inSession.begin(facts);
  inSession.sees('github');
  inSession.mayCall('github', 'read_file');
  leave();
});

const common = new Budget(Infinity, 'none');
const quotas = new Quotas(
  {
    callsPerMinute: 1_000_000_000,
    openCalls: 10,
    tasks: 10,
    bytes: 1_000_000,
    overrides: [{ principals: ['x'], tasks: 1 }],
  },
  { clock: systemClock, observed: {}, memoryOf: () => common },
);
measure('a call under quotas', () => {
  const own = quotas.for({ principal, facts });
  own.assertRoom('tasks');
  own.assertBytes(100);
  own.beginCall()();
});
