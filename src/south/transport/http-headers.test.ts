import { expect, test } from 'vitest';
import { configuredHeaders } from './http-headers.ts';

test('C-1: configured headers get lower-case names, and hop-by-hop headers are dropped except Connection: close', () => {
  const url = new URL('http://example.test/mcp');
  expect(configuredHeaders(url, { 'X-Key': 'a', Connection: 'upgrade', 'Transfer-Encoding': 'chunked' })).toEqual({
    'x-key': 'a',
  });
  expect(configuredHeaders(url, { Connection: 'Close' })).toEqual({ connection: 'Close' });
  expect(configuredHeaders(url)).toEqual({});
});

test('C-1: credentials in the URL become Basic authorization, unless a header is configured', () => {
  const url = new URL('http://us%20er:p%C3%A4ss@example.test/mcp');
  const authorization = `Basic ${Buffer.from('us er:päss').toString('base64')}`;
  expect(configuredHeaders(url)).toEqual({ authorization });
  expect(configuredHeaders(url, { Authorization: 'Bearer x' })).toEqual({ authorization: 'Bearer x' });
});
