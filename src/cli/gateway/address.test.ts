import { expect, test } from 'vitest';
import { baseUrl, configuredBase } from './address.ts';

test.each([
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/mcp', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/mcp/all?as=x', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/metrics', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/console#key=secret', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080/api/v1/me', 'http://127.0.0.1:8080'],
  ['https://example.org/gateway/mcp', 'https://example.org/gateway'],
  ['localhost:8080', 'http://localhost:8080'],
])('V-4, W-1: for %s, the base URL of the gateway is %s', (given, base) => {
  expect(baseUrl(given)).toBe(base);
});

test('V-4, W-1: the base URL of the gateway in the config file uses a loopback address', () => {
  expect(configuredBase({ host: '0.0.0.0', port: 81 })).toBe('http://127.0.0.1:81');
  expect(configuredBase({ host: '::', port: 81 })).toBe('http://[::1]:81');
  expect(configuredBase({ host: '127.0.0.1', port: 0 })).toBeUndefined();
  expect(() => baseUrl('demo')).toThrow(/'demo' is not a URL; give the address/);
});
