/** `meanwhile rules`. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { runCommand } from '../../support/command.ts';
import { configFile } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';

const RULES = [
  { tool: 'slow', args: { ms: 5 }, then: 'deny', message: 'Too slow.' },
  { annotations: { readOnlyHint: true }, then: 'allow' },
  { principal: 'ada', then: 'ask' },
];

async function config(rules: unknown[] = RULES): Promise<string> {
  const server = owned(await startV1Http());
  const gone = { url: 'http://127.0.0.1:1/mcp' };
  return configFile({ old: { url: server.url }, gone }, { rules, auth: { tokens: { ada: '0123456789abcdef' } } });
}

async function ruleFor(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return runCommand(['rules', 'test', ...args]);
}

test('G-1: rules test prints the deciding rule and the reason without making the call', async () => {
  const file = ['--config', await config()];
  const denied = await ruleFor('old', 'slow', 'ms=5', ...file);
  expect(denied).toMatchObject({ code: 0, stderr: '' });
  expect(denied.stdout).toMatch(/^deny: rules\[0\] decides/);
  expect(denied.stdout).toContain('arguments: {"ms":5}');
  const allowed = await ruleFor('old', 'echo', ...file);
  expect(allowed.stdout).toMatch(/^allow: rules\[1\] decides/);
  expect(allowed.stdout).toMatch(/rules\[0\]\s+does not match: tool/);
  expect(allowed.stdout).toMatch(/rules\[2\]\s+not reached/);
  expect(allowed.stdout).toContain('readOnlyHint=true, destructiveHint=false (default)');
  const none = await ruleFor('old', 'slow', 'ms=6', ...file);
  expect(none.stdout).toMatch(/^allow: no rule matches, so the call is made/);
  const { stdout } = await ruleFor('old', 'slow', '--principal', 'ada', '--json', ...file);
  expect(JSON.parse(stdout)).toMatchObject({
    then: 'ask',
    rule: 2,
    listed: true,
    rules: [{ mismatch: 'args' }, {}, {}],
  });
});

test('G-1: rules test reports an unreachable server and unknown names', async () => {
  const file = ['--config', await config()];
  const unreachable = await ruleFor('gone', 'delete', 'path=/a', ...file);
  expect(unreachable).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('the tools of gone cannot be listed') as string,
  });
  expect(unreachable.stdout).toContain('destructiveHint=true (default)');
  const unknown = await ruleFor('old', 'ecco', ...file);
  expect(unknown.stderr).toContain("old lists no tool 'ecco'; did you mean 'echo'?");
  expect((await ruleFor('olt', 'echo', ...file)).stderr).toContain("it is not in the config file; did you mean 'old'?");
  expect(await ruleFor('old', 'slow', 'ms=soon', ...file)).toMatchObject({ code: 2 });
  expect(await ruleFor('old')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected meanwhile rules test') as string,
  });
  expect(await runCommand(['rules'])).toMatchObject({ code: 2 });
});

test('G-1: rules init proposes rules for the reachable servers', async () => {
  const file = ['--config', await config([])];
  const { code, stdout, stderr } = await runCommand(['rules', 'init', ...file]);
  expect(code).toBe(0);
  expect(stderr).toContain('skipping gone: ');
  expect(stdout).toContain(
    '{ "server": "old", "tool": "slow", "then": "ask", "remember": true, "approver": "person" },',
  );
  expect(stdout).toContain('Tools that declare themselves read-only (old: echo');
  const json = JSON.parse((await runCommand(['rules', 'init', '--json', ...file])).stdout) as { rules: unknown[] };
  expect(json.rules).toContainEqual({
    annotations: { destructiveHint: true },
    then: 'ask',
    remember: true,
    approver: 'person',
  });
});
