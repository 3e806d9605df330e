import { vendor } from './vendor.ts';
import type { Era, RpcFailure } from './wire.ts';

/** Errors that are easily changed on the way: codes that others use for themselves, and every kind of `data`. */
export const FAILURES: Record<string, RpcFailure> = {
  'a code of its own': { code: 4711, message: 'refused', data: { list: [1, null], ...vendor('error of a call') } },
  'data that is text': { code: -31_999, message: 'refused ✓', data: 'just text' },
  'data that is null': { code: 1, message: 'null', data: null },
  'data that is false': { code: -1, message: 'false', data: false },
  'no data and no message': { code: 2, message: '' },
  'the code of a lost connection': { code: -32_000, message: 'Connection closed', data: { mine: true } },
  'the code of a time-out': { code: -32_001, message: 'Request timed out', data: { timeout: 1 } },
  'the code of an unknown method': { code: -32_601, message: 'no such thing', data: { name: 'refuse' } },
  'the code of wrong parameters': { code: -32_602, message: 'Unknown tool: refuse', data: { name: 'refuse' } },
  'the code of an inner error': { code: -32_603, message: 'boom', data: { stack: ['a', 'b'] } },
  'the code of a missing capability': {
    code: -32_021,
    message: 'needs more',
    data: { requiredCapabilities: { sampling: { tools: {} } } },
  },
};

/** The new era has no such error: a link is asked for in an `input_required` result there. */
export function needsLink(era: Era): RpcFailure {
  if (era === 'modern') return { code: 4715, message: 'needs a link', data: { url: 'https://example.com/link' } };
  const elicitation = {
    mode: 'url',
    message: 'Please open',
    url: 'https://example.com/link',
    elicitationId: 'link-1',
    ...vendor('elicitation'),
  };
  return { code: -32_042, message: 'needs a link', data: { elicitations: [elicitation], ...vendor('-32042') } };
}
