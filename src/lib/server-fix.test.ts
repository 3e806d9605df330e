import { expect, test } from 'vitest';
import { fixFor } from './server-fix.ts';

const HTTP = { url: 'https://x.example' };
const COMMAND = { command: 'x' };

test.each([
  ['refused', 'no program listens there'],
  ['dns', 'no such host'],
  ['no_route', 'does not answer'],
  ['tls_untrusted', 'not trusted'],
  ['tls', 'http:// instead of https://'],
  ['auth', 'add a header with your credentials'],
  ['wrong_path', '/mcp'],
  ['timeout', 'check the URL'],
] as const)('C-3: the failure %j has a fix', (failure, fix) => {
  expect(fixFor(failure, HTTP, 'command line')).toContain(fix);
});

test('C-3, H-12: the fix depends on the type of the server and on where its settings are', () => {
  expect(fixFor('command_missing', COMMAND, 'command line')).toBe(
    'check that the program is installed and on the PATH',
  );
  expect(fixFor('folder_missing', COMMAND, 'command line')).toBe('create the folder, or correct "cwd"');
  expect(fixFor('timeout', COMMAND, 'command line')).toContain('an MCP server for stdio');
  expect(fixFor('auth', HTTP, 'command line')).toContain("--header 'Authorization: Bearer …'");
  expect(fixFor('auth', HTTP, 'configuration')).toContain('"headers": { "Authorization": "Bearer …" }');
});

test('C-3: the fix for a refused header differs from the fix for a missing header', () => {
  const about = (headers: Record<string, string>) => fixFor('auth', { ...HTTP, headers }, 'command line');
  expect(about({ Authorization: 'secret' })).toBe(
    'the header Authorization was not accepted: check that its value is right and still valid',
  );
  expect(about({ 'X-Tenant': '1' })).toContain('add a header');
});

test('H-12: the fix for a whole command line in place of a program shows the split', () => {
  const fix = fixFor('command_missing', { command: 'npx -y some-server' }, 'configuration');
  expect(fix).toContain('"command": "npx", "args": ["-y", "some-server"]');
});

test('C-3: failures of an unknown kind have no fix', () => {
  expect(fixFor('other', COMMAND, 'command line')).toBeUndefined();
  expect(fixFor(undefined, HTTP, 'command line')).toBeUndefined();
});
