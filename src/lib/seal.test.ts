import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { seal, unseal } from './seal.ts';

test('W-7: a sealed value opens only unchanged, with the same key and for the same purpose', () => {
  const key = randomBytes(32);
  const sealed = seal(key, { principal: 'ann' }, 'pass');
  expect(unseal(key, sealed, 'pass')).toEqual({ principal: 'ann' });
  expect(unseal(key, sealed, 'other')).toBeUndefined();
  expect(unseal(key, sealed)).toBeUndefined();
  expect(unseal(randomBytes(32), sealed, 'pass')).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(unseal(key, changed.toString('base64url'), 'pass')).toBeUndefined();
  }
  for (const nothing of ['', 'x', 'A'.repeat(40), sealed.slice(0, -4)])
    expect(unseal(key, nothing, 'pass')).toBeUndefined();
  expect(sealed).not.toContain(Buffer.from('ann').toString('base64url'));
});
