import { expect, test } from 'vitest';
import { addressWarnings, httpUrl } from './http-url.ts';

test('W-7: only http and https URLs become links', () => {
  expect(httpUrl('https://example.org/a')?.host).toBe('example.org');
  const others = ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', ' ', '/path', undefined, {}];
  expect(others.filter((each) => httpUrl(each) !== undefined)).toEqual([]);
});

test('W-2: unencrypted, misleading and non-ASCII URLs get a warning', () => {
  const warnings = (text: string): number => addressWarnings(new URL(text)).length;
  expect([warnings('https://example.org'), warnings('http://localhost:80'), warnings('http://[::1]/')]).toEqual([
    0, 0, 0,
  ]);
  expect(warnings('http://example.org')).toBe(1);
  expect(warnings('https://bank.example@evil.example/')).toBe(1);
  expect(warnings('https://еxample.org/')).toBe(1);
});
