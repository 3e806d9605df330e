import { expect, test } from 'vitest';
import { Hello } from './hello.ts';

const request = (id: number | string, method: string): { jsonrpc: '2.0'; id: number | string; method: string } => ({
  jsonrpc: '2.0',
  id,
  method,
});

test('D-5: the answer to the last introduction that was asked for is kept as it came, and no other', () => {
  const hello = new Hello();
  hello.received({ jsonrpc: '2.0', id: 0, result: { before: true } });
  hello.sent(request('probe', 'server/discover'));
  hello.received({ jsonrpc: '2.0', id: 'probe', error: { code: -32601, message: 'Method not found' } });
  expect(hello.said).toBeUndefined();
  hello.sent(request(0, 'initialize'));
  hello.sent(request(1, 'ping'));
  hello.received({ jsonrpc: '2.0', id: 1, result: {} });
  const result = JSON.parse('{"serverInfo":{"__proto__":"kept"},"x-vendor":1}') as Record<string, unknown>;
  hello.received({ jsonrpc: '2.0', id: 0, result });
  expect(hello.said).toBe(result);
});
