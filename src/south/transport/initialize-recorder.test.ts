import { expect, test } from 'vitest';
import { InitializeRecorder } from './initialize-recorder.ts';

const request = (id: number | string, method: string): { jsonrpc: '2.0'; id: number | string; method: string } => ({
  jsonrpc: '2.0',
  id,
  method,
});

test('D-5: the answer to the last introduction that was asked for is kept as it came, and no other', () => {
  const recorder = new InitializeRecorder();
  recorder.received({ jsonrpc: '2.0', id: 0, result: { before: true } });
  recorder.sent(request('probe', 'server/discover'));
  recorder.received({ jsonrpc: '2.0', id: 'probe', error: { code: -32601, message: 'Method not found' } });
  expect(recorder.result).toBeUndefined();
  recorder.sent(request(0, 'initialize'));
  recorder.sent(request(1, 'ping'));
  recorder.received({ jsonrpc: '2.0', id: 1, result: {} });
  const result = JSON.parse('{"serverInfo":{"__proto__":"kept"},"x-vendor":1}') as Record<string, unknown>;
  recorder.received({ jsonrpc: '2.0', id: 0, result });
  expect(recorder.result).toBe(result);
});
