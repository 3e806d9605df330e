import { expect, test } from 'vitest';
import { elicitationUnanswered, sampleUnanswered } from './unanswered.ts';

test('C-3: in a script, the error shows the fields of the question and the --answer to add to the command', () => {
  const requestedSchema = {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name' },
      age: { type: 'integer', minimum: 0 },
      size: { enum: ['S', 'M'] },
      extras: { type: 'array', items: { enum: ['a', 'b'] } },
      news: { type: 'boolean' },
    },
  };
  const all = elicitationUnanswered({ mode: 'form', requestedSchema }).split('\n');
  expect(all.slice(0, 2)).toEqual(['  name: Name (optional)', '  age: age (a whole number, at least 0, optional)']);
  expect(all.at(-1)).toContain(`--answer '{"name":"…","age":0,"size":"S","extras":["a"],"news":true}'`);
  const some = elicitationUnanswered({ mode: 'form', requestedSchema: { ...requestedSchema, required: ['age'] } });
  expect(some).toContain(`--answer '{"age":0}'`);
  expect(elicitationUnanswered({ mode: 'url', url: 'https://x.example' })).toContain(
    `https://x.example\nanswered "cancel" (no interactive terminal); when you have opened the page, confirm with --answer '{"action":"accept"}'`,
  );
  expect(sampleUnanswered({ params: { maxTokens: 5 } })).toContain(`--answer '{"text":"…"}'`);
});
