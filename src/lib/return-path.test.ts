import { expect, test } from 'vitest';
import { isBesideConsole, isReturnPath } from './return-path.ts';

test('W-7: after a sign-in only pages of this gateway are accepted as return paths', () => {
  const own = ['/console', '/console#/inbox', '/console#/q/a%20b?x=1&y=2', '/oauth/start/aB_-9', '/answer/aB_-9'];
  const foreign = [
    '',
    'console',
    '//evil.example/console',
    '/\\evil.example',
    'https://evil.example/console',
    'https:/console',
    'javascript:alert(1)',
    '/console@evil.example',
    '/console.evil.example',
    '/console/../evil',
    '/console#key=abc',
    '/console#/q/1\nset-cookie: a=b',
    '/console#/q/\\',
    '/console?x=//evil.example',
    '/oauth/start/',
    '/oauth/start/../../mcp',
    '/oauth/start/a/b',
    '/oauth/start/a?to=b',
    '/oauth/callback',
    '/answer/..',
    '/api/v1/me',
    '/mcp',
    `/console#/${'x'.repeat(1000)}`,
  ];
  expect(own.filter((path) => !isReturnPath(path))).toEqual([]);
  expect(foreign.filter((path) => isReturnPath(path))).toEqual([]);
  expect([...own, ...foreign].filter(isBesideConsole)).toEqual(['/oauth/start/aB_-9', '/answer/aB_-9']);
});
