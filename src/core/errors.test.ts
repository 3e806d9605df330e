import { expect, test } from 'vitest';
import { ERROR_TABLE, GatewayError, known } from './errors.ts';

const OF_THE_SEED = [
  'TOOL_ERR_SESSION_NOT_FOUND',
  'TOOL_ERR_SERVER_NOT_FOUND',
  'TOOL_ERR_NOT_FOUND',
  'TOOL_ERR_EXECUTION_FAILED',
  'TOOL_ERR_TIMEOUT',
  'TOOL_ERR_SERVER_DISCONNECTED',
];

test('H-12: the error table has every required code, each with a JSON-RPC code and an HTTP status', () => {
  expect(Object.keys(ERROR_TABLE)).toEqual(expect.arrayContaining(OF_THE_SEED));
  for (const [code, { rpc, http }] of Object.entries(ERROR_TABLE)) {
    expect(code).toMatch(/^TOOL_ERR_[A-Z_]+$/);
    expect(rpc, code).toBeGreaterThanOrEqual(-32768);
    expect(rpc, code).toBeLessThanOrEqual(-32000);
    expect(http, code).toBeGreaterThanOrEqual(400);
    expect(http, code).toBeLessThanOrEqual(599);
  }
  expect(ERROR_TABLE.TOOL_ERR_SESSION_NOT_FOUND.http).toBe(404);
});

test('H-12: an error carries its code and details', () => {
  const error = new GatewayError('TOOL_ERR_TIMEOUT', 'too late', { after: 5 });
  expect(error).toMatchObject({ code: 'TOOL_ERR_TIMEOUT', message: 'too late', details: { after: 5 } });
});

test('H-12: lists of known names are sorted and limited', () => {
  expect(known([])).toBe('there are none');
  expect(known(['b', 'a'])).toBe('known: a, b');
  const many = known(Array.from({ length: 40 }, (_, index) => `s${String(index).padStart(2, '0')}`));
  expect(many).toContain('s29 and 10 more');
  expect(many).not.toContain('s30');
});
