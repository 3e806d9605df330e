import { expect, test } from 'vitest';
import { redactUrl } from './redact.ts';

test('X-4: no credentials, no query values, no fragment', () => {
  const shown = redactUrl('https://user:secret@example.org/mcp?token=abc&x=1#frag');
  expect(shown).toBe('https://example.org/mcp?token=***&x=***');
});

test('X-4: what is no url is not repeated', () => {
  expect(redactUrl('secret')).toBe('(not a url)');
});
