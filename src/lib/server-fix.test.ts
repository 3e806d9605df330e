import { expect, test } from 'vitest';
import { fixFor } from './server-fix.ts';

const HTTP = { url: 'https://x.example' };
const COMMAND = { command: 'x' };

test.each([
  ['connection refused (ECONNREFUSED)', 'nothing listens there'],
  ['connect ECONNREFUSED 127.0.0.1:1', 'nothing listens there'],
  ['no such host (ENOTFOUND)', 'no such host'],
  ['unable to verify the first certificate', 'not trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'not trusted'],
  ['write EPROTO: wrong version number', 'http:// instead of https://'],
  ['HTTP 403 from https://x.example: Forbidden', 'who asks'],
  ['the server requires authorization (HTTP 401)', 'who asks'],
  ['HTTP 404 from https://x.example: Not Found', '/mcp'],
])('C-3: for %j there is a fix', (reason, fix) => {
  expect(fixFor(reason, HTTP, 'command line')).toContain(fix);
});

test('C-3, H-12: the fix depends on what the server is, and on where one can say it', () => {
  expect(fixFor("command 'x' was not found", COMMAND, 'command line')).toBe(
    'is the program installed, and on the PATH?',
  );
  expect(fixFor("the folder '/nope' (cwd of 'x') was not found", COMMAND, 'command line')).toBe(
    'create the folder, or correct "cwd"',
  );
  expect(fixFor('HTTP 401: no', HTTP, 'command line')).toContain("--header 'Authorization: Bearer …'");
  expect(fixFor('HTTP 401: no', HTTP, 'configuration')).toContain('"headers": { "Authorization": "Bearer …" }');
});

test('C-3: a header that was given and refused gets other advice than a missing one', () => {
  const about = (headers: Record<string, string>) => fixFor('HTTP 401: no', { ...HTTP, headers }, 'command line');
  expect(about({ Authorization: 'secret' })).toBe(
    'the header Authorization was not accepted: is its value right, and still valid?',
  );
  expect(about({ 'X-Tenant': '1' })).toContain('give it a header');
});

test('H-12: a whole command line in place of a program is taken apart', () => {
  const fix = fixFor("command 'npx -y some-server' was not found", { command: 'npx -y some-server' }, 'configuration');
  expect(fix).toContain('"command": "npx", "args": ["-y", "some-server"]');
});

test('C-3: there is no fix for what nobody knows, nor for a server behind another', () => {
  expect(fixFor('the moon is full', COMMAND, 'command line')).toBeUndefined();
  expect(fixFor("no server 'nix'; known: files", HTTP, 'command line')).toBeUndefined();
  for (const reason of ["command 'x' was not found", 'cannot reach http://x: connection refused (ECONNREFUSED)']) {
    expect(fixFor(`server 'files' cannot be reached: ${reason}`, HTTP, 'command line')).toBeUndefined();
  }
});
