import { expect, test } from 'vitest';
import { describeSample } from './ask-sample.ts';

test('C-3: a sampling request is shown with the system prompt, messages, limits and tools', () => {
  const shown = describeSample({
    systemPrompt: 'Be brief.\u001B[2J',
    messages: [
      { role: 'user', content: { type: 'text', text: 'What\nis it?' } },
      { role: 'assistant', content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] },
    ],
    maxTokens: 64,
    temperature: 0.2,
    modelPreferences: { hints: [{ name: 'small' }, {}] },
    tools: [{ name: 'weather' }],
  });
  expect(shown.split('\n')).toEqual([
    'system: Be brief.',
    'user: What',
    'is it?',
    'assistant: {"type":"image","mimeType":"image/png"}',
    '(at most 64 tokens; temperature 0.2; model: small; tools: weather)',
  ]);
});

test('C-3: malformed parameters and very long texts in a sampling request are handled', () => {
  expect(describeSample({})).toBe('');
  expect(describeSample({ messages: [7, { role: 'user' }], modelPreferences: [], tools: [1] })).toContain('user');
  const long = describeSample({ messages: [{ role: 'user', content: { type: 'text', text: 'x'.repeat(9000) } }] });
  expect(long).toMatch(/… \(5000 more characters\)$/);
});
