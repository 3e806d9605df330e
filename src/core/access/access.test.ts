import { describe, expect, test } from 'vitest';
import { Access, type AccessRule } from './access.ts';
import { factReader } from './whom.ts';

const RULES: AccessRule[] = [
  { principals: ['eve'], then: 'deny' },
  { tools: ['delete_*'], then: 'deny' },
  { claims: { groups: ['engineering', 'ops-*'] }, servers: ['db-*'], then: 'allow' },
  { scopes: ['mcp:operate'], then: 'allow' },
  { principals: ['ada', '*@https://login.example.com'], servers: ['github'], tools: ['read_*'], then: 'allow' },
  { principals: ['ada'], servers: ['files'], then: 'allow' },
];

const readFacts = factReader(RULES);
const of = (principal: string, claims: Record<string, unknown> = {}, scopes: string[] = []) =>
  new Access(RULES).grantOf({ principal, facts: readFacts?.(claims, scopes) });

describe('access rules', () => {
  test('A-P: the first matching rule decides, and without a match access is denied', () => {
    const ada = of('ada');
    expect(ada.sees('files')).toBe(true);
    expect(ada.mayCall('files', 'write')).toBe(true);
    expect(ada.mayCall('files', 'delete_all')).toBe(false);
    expect(ada.sees('db-prod')).toBe(false);
    expect(ada.mayCall('db-prod', 'query')).toBe(false);
    const ben = of('ben');
    expect(['github', 'files', 'db-prod'].some((server) => ben.sees(server))).toBe(false);
    expect(of('eve', { groups: 'engineering' }).sees('db-prod')).toBe(false);
  });

  test('A-P: a server with some allowed tools is visible with these tools only', () => {
    const ada = of('ada');
    expect(ada.sees('github')).toBe(true);
    expect(ada.mayCall('github', 'READ_file')).toBe(true);
    expect(ada.mayCall('github', 'push')).toBe(false);
    expect(ada.mayCall('github', '')).toBe(false);
  });

  test('A-P: names are compared exactly, including case and issuer', () => {
    expect(of('Ada').sees('files')).toBe(false);
    expect(of('u1@https://login.example.com').sees('github')).toBe(true);
    expect(of('u1@https://login.example.com.evil.org').sees('github')).toBe(false);
    expect(of('ada').sees('FILES')).toBe(false);
    expect(of('ada').sees('Files')).toBe(false);
  });

  test('A-P: claims may be strings or lists, and a path selects nested claims', () => {
    expect(of('ben', { groups: ['sales', 'ops-eu'] }).sees('db-prod')).toBe(true);
    expect(of('ben', { groups: 'Engineering' }).sees('db-prod')).toBe(false);
    expect(of('ben', { groups: { engineering: true } }).sees('db-prod')).toBe(false);
    expect(of('ben', {}, ['mcp:operate']).sees('anything')).toBe(true);
    const rules: AccessRule[] = [{ claims: { 'realm_access.roles': 'dev' }, then: 'allow' }];
    const nested = factReader(rules)?.({ realm_access: { roles: ['dev', 'x'] }, email: 'a@b' }, ['mcp:use']);
    expect(nested).toEqual({ scopes: [], claims: { 'realm_access.roles': ['dev'] } });
    expect(new Access(rules).grantOf({ principal: 'x', facts: nested }).sees('s')).toBe(true);
    // What an object inherits is no claim.
    const odd: AccessRule[] = [{ claims: { constructor: '*' }, then: 'allow' }];
    expect(factReader(odd)?.({}, [])).toBeUndefined();
  });

  test('A-P, A-12: only the claims and scopes that the rules name are kept of a token', () => {
    const facts = readFacts?.({ groups: ['engineering', 'payroll'], email: 'ben@example.com' }, ['mcp:use', 'secret']);
    expect(facts).toEqual({ scopes: [], claims: { groups: ['engineering'] } });
    expect(readFacts?.({ email: 'ben@example.com' }, ['mcp:use'])).toBeUndefined();
    expect(factReader([{ principals: ['ada'] }])).toBeUndefined();
  });
});

describe('requests with different tokens in one session', () => {
  const wide = { scopes: [], claims: { groups: ['engineering'] } };
  const start = (facts = undefined as typeof wide | undefined) => {
    let changes = 0;
    const access = new Access(RULES).forSession({
      principal: 'ada',
      facts,
      isShared: (server) => server !== 'own',
      onChange: () => (changes += 1),
    });
    return { access, changes: () => changes };
  };

  test('A-P: while requests with different tokens are open, only access that all of them have is granted', () => {
    const { access, changes } = start();
    expect(access.sees('db-prod')).toBe(false);
    const endNarrow = access.begin(undefined);
    const endWide = access.begin(wide);
    expect([access.sees('db-prod'), access.mayCall('db-prod', 'query'), access.sees('files')]).toEqual([
      false,
      false,
      true,
    ]);
    endNarrow();
    expect(access.sees('db-prod')).toBe(true);
    const endOther = access.join(undefined);
    expect(access.sees('db-prod')).toBe(false);
    endOther();
    endWide();
    // Without a request, the last token counts.
    expect([access.sees('db-prod'), access.facts, changes()]).toEqual([true, wide, 1]);
    access.use(undefined);
    expect(access.sees('db-prod')).toBe(false);
  });

  test('A-P: the version changes when access changes, and only then', () => {
    const { access } = start(wide);
    const { version } = access;
    access.begin({ ...wide })();
    access.begin(wide)();
    expect(access.version).toBe(version);
    const end = access.join(undefined);
    expect(access.version).toBeGreaterThan(version);
    const during = access.version;
    end();
    expect(access.version).toBeGreaterThan(during);
  });

  test('A-P: a principal can use all tools of a server that it has added', () => {
    const { access } = start();
    expect([access.sees('own'), access.mayCall('own', 'delete_all')]).toEqual([true, true]);
  });
});
