import { expect, test } from 'vitest';
import { leavingFor, REQUEST_LEFT } from './cancel-reasons.ts';

test.each([
  'McpError: MCP error -32001: Request timed out',
  'McpError: MCP error -32001: Maximum total timeout exceeded',
  'SdkError: Request timed out',
  'TimeoutError: The operation was aborted due to timeout',
  'TimeoutError: The operation timed out.',
  'timed out after 60s',
  'Request timed out',
  'request timeout',
  'maximum total timeout exceeded',
  'timed out',
  'Timeout',
  'context deadline exceeded',
  'MCP response future dropped',
  'detached-ceiling',
])('T-4: cancelling with the reason "%s" means that the client stopped waiting', (reason) => {
  expect(leavingFor(reason, 'auto')).toBe('gone');
  expect(leavingFor(reason, 'cancel')).toBe('cancelled');
});

test.each([
  'AbortError: This operation was aborted',
  'caller cancelled',
  'context canceled',
  'StandaloneCoroutine was cancelled',
  'the user pressed escape',
  'undefined',
  '',
  undefined,
  { toString: 0, valueOf: 0 },
  ['timeout'],
  new DOMException('This operation was aborted', 'AbortError'),
])('T-4: cancelling with the reason "%s" means that the work must stop', (reason) => {
  expect(leavingFor(reason, 'auto')).toBe('cancelled');
  expect(leavingFor(reason, 'keep')).toBe('gone');
});

test('T-4: a request whose connection closed is never a cancellation', () => {
  expect(leavingFor(REQUEST_LEFT, 'cancel')).toBe('gone');
});
