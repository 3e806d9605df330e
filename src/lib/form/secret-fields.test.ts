import { expect, test } from 'vitest';
import { looksLikeSecret } from './secret-fields.ts';

test.each([
  'password',
  'Passphrase',
  'db_passwd',
  'githubtoken',
  'accessToken',
  'API keys',
  'myapikey',
  'client-secret',
  'PIN',
  'your pin',
  'cardNumber',
  'Credit card',
  'CVV',
  'one-time code',
  'verification_code',
  'seed phrase',
  'SSN',
])('G-3: %s looks like a secret', (text) => {
  expect(looksLikeSecret(text)).toBe(true);
});

test.each([
  'name',
  'maxTokens',
  'tokenizer',
  'spinner',
  'pinned',
  'opinion',
  'key',
  'keyboard',
  'compass',
  'passenger',
  'postcode',
  'discard',
  'cards',
])('G-3: %s does not look like a secret', (text) => {
  expect(looksLikeSecret(text)).toBe(false);
});
