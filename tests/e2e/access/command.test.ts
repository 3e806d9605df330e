/** `meanwhile access`. */
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { configFile, type SettingsInput } from '../../support/gateway.ts';

const ACCESS = [
  { servers: ['db'], tools: ['drop_*'], then: 'deny' },
  { scopes: ['mcp:use'], servers: ['db'], then: 'allow' },
  { claims: { groups: 'ops' }, then: 'allow' },
  { principals: ['ci'], servers: ['files'], tools: ['read_*'], then: 'allow' },
];

async function config(settings: SettingsInput = { access: ACCESS }): Promise<string[]> {
  const server = { url: 'http://127.0.0.1:1/mcp' };
  const auth = { tokens: { ci: '0123456789abcdef' }, issuers: [{ issuer: 'https://login.example.com' }] };
  return ['--config', await configFile({ db: server, files: server }, { auth, ...settings })];
}

test('A-P: access test lists the servers of a principal with the deciding rule', async () => {
  const file = await config();
  const { code, stdout } = await runCommand(['access', 'test', 'ci', ...file]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^db +deny +no rule matches\nfiles +allow +access\[3\]$/m);
  const { stdout: json } = await runCommand(['access', 'test', 'u@x', '--claim', 'groups=ops', '--json', ...file]);
  expect(JSON.parse(json)).toEqual({
    servers: [
      { server: 'db', allowed: true, rule: 2 },
      { server: 'files', allowed: true, rule: 2 },
    ],
  });
});

test('A-P, A-9: access test names the deciding rule for a tool, and why others do not match', async () => {
  const file = await config();
  const allowed = await runCommand(['access', 'test', 'u@x', 'db', 'query', '--scope', 'mcp:operate', ...file]);
  expect(allowed.stdout).toMatch(/^allow: access\[1\] decides/);
  expect(allowed.stdout).toMatch(/access\[0\]\s+does not match: tools/);
  expect(allowed.stdout).toMatch(/access\[2\]\s+not reached/);
  const denied = await runCommand(['access', 'test', 'u@x', 'db', 'drop_all', '--scope', 'mcp:operate', ...file]);
  expect(denied.stdout).toMatch(/^deny: access\[0\] decides/);
  const none = await runCommand(['access', 'test', 'ci', 'files', 'write', ...file]);
  expect(none.stdout).toMatch(/^deny: no rule matches, so nothing is allowed/);
  const free = await runCommand(['access', 'test', 'ci', 'files', ...(await config({}))]);
  expect(free.stdout).toMatch(/^allow: there are no access rules, so everything is allowed/);
  const misspelt = await runCommand(['access', 'test', 'ci', 'flies', ...file]);
  expect(misspelt.stderr).toContain("'flies' is not in the config file; did you mean 'files'?");
});

test('A-P: wrong usage of access test is refused, and an unreachable rule stops the start', async () => {
  const file = await config();
  expect((await runCommand(['access', 'test', ...file])).code).toBe(2);
  expect((await runCommand(['access', 'test', 'ci', '--claim', 'groups', ...file])).stderr).toContain('NAME=VALUE');
  const covered = await config({ access: [{ then: 'allow' }, { servers: ['db'], then: 'deny' }] });
  const refused = await runCommand(['access', 'test', 'ci', ...covered]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('access[1]: never decides: access[0]')]);
});
