import { expect, it } from 'vitest';
import { isOfTheRecord, mayPass } from './failure.ts';

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

it.each(['EPIPE', 'ECONNRESET', 'CONNECTION_CLOSED', '57P01', '40001', '53300'])('K-7: %s may pass', (code) => {
  expect(mayPass(withCode(code))).toBe(true);
});

it.each(['42P01', '42501', 'XX000', 'P0001'])('K-7: %s does not pass by itself', (code) => {
  expect(mayPass(withCode(code))).toBe(false);
});

it('X-4: what is too large for a statement is a matter of the record', () => {
  expect([new RangeError('Invalid string length'), withCode('54000'), withCode('XX000')].map(isOfTheRecord)).toEqual([
    true,
    true,
    true,
  ]);
  expect(isOfTheRecord(withCode('42P01'))).toBe(false);
});
