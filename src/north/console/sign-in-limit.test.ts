import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { SignInLimit } from './sign-in-limit.ts';

const from = (remoteAddress: string): IncomingMessage => ({ socket: { remoteAddress } }) as IncomingMessage;

test('W-7: wrong keys are limited per address and in total', () => {
  const clock = new TestClock();
  const limit = new SignInLimit(clock);
  const attempt = (address: string): void => {
    limit.failed(from(address));
  };
  for (let count = 0; count < 10; count += 1) attempt('10.0.0.1');
  expect(() => attempt('10.0.0.1')).toThrow(/try again in 60 seconds/);
  for (let count = 0; count < 990; count += 1) attempt(`10.0.1.${count}`);
  expect(() => limit.failed(from('10.0.0.2'))).toThrow(/too many wrong keys/);
  clock.advance(60_000);
  limit.failed(from('10.0.0.1'));
});
