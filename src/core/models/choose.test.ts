import { expect, test } from 'vitest';
import { fileSchema } from '../../config/schema.ts';
import { chooseModels, type ModelClient } from './choose.ts';

const CLIENT: ModelClient = { principal: 'ann', server: 'files', configured: true };

function choose(
  models: Record<string, object>,
  params: Record<string, unknown> = {},
  client: Partial<ModelClient> = {},
) {
  const given = Object.entries(models).map(([name, more]) => [name, { api: 'openai', model: `${name}-1`, ...more }]);
  const { models: all } = fileSchema.parse({ meanwhile: { models: Object.fromEntries(given) } }).meanwhile;
  return chooseModels(all, { ...CLIENT, ...client }, params)[0];
}

const TWO = {
  cheap: { scores: { cost: 0.9, speed: 0.9, intelligence: 0.2 } },
  clever: { model: 'Big-Thinker-4', scores: { cost: 0.1, speed: 0.3, intelligence: 0.9 }, hints: ['claude-*'] },
};
const prefer = (modelPreferences: unknown) => ({ modelPreferences });

test.each([
  ['no preferences: the first', {}, 'cheap'],
  ['cost', prefer({ costPriority: 1 }), 'cheap'],
  ['intelligence', prefer({ intelligencePriority: 0.8 }), 'clever'],
  ['a mix', prefer({ costPriority: 0.4, intelligencePriority: 0.6 }), 'clever'],
  ['another mix', prefer({ costPriority: 0.6, speedPriority: 0.6, intelligencePriority: 0.6 }), 'cheap'],
  ['a hint that is a part of the model name', prefer({ hints: [{ name: 'thinker' }], costPriority: 1 }), 'clever'],
  [
    'a hint that a configured pattern matches',
    prefer({ hints: [{ name: 'claude-3-sonnet' }], costPriority: 1 }),
    'clever',
  ],
  [
    'the first hint that matches a model',
    prefer({ hints: [{ name: 'gpt' }, { name: 'cheap' }], intelligencePriority: 1 }),
    'cheap',
  ],
  ['no matching hint: the first', prefer({ hints: [{ name: 'gpt' }, {}, null, { name: '' }] }), 'cheap'],
  ['malformed preferences: the first', prefer({ hints: 'claude', costPriority: 'high' }), 'cheap'],
])('G-4: a model is chosen by %s', (_what, params, chosen) => {
  expect(choose(TWO, params)).toBe(chosen);
});

test('G-4: fallback models are ordered by hints, then by priorities', () => {
  const models = fileSchema.parse({
    meanwhile: {
      models: Object.fromEntries(
        Object.entries({ ...TWO, third: { scores: { intelligence: 0.95 } } }).map(([name, more]) => [
          name,
          { api: 'openai', model: `${name}-1`, ...more },
        ]),
      ),
    },
  }).meanwhile.models;
  const order = (preferences: object): string[] => chooseModels(models, CLIENT, prefer(preferences));
  expect(order({ intelligencePriority: 1 })).toEqual(['third', 'clever', 'cheap']);
  expect(order({ hints: [{ name: 'gpt' }, { name: 'cheap' }, { name: 'claude-3' }], intelligencePriority: 1 })).toEqual(
    ['cheap', 'clever', 'third'],
  );
});

test('G-4: a model serves only its principals and servers', () => {
  const models = { one: { principals: ['bob'] }, two: { servers: ['mail', 'fi*'] } };
  expect(choose(models)).toBe('two');
  expect(choose(models, {}, { principal: 'bob' })).toBe('one');
  expect(choose(models, {}, { server: 'web' })).toBeUndefined();
  // A server that a client added must be named.
  expect(choose(models, {}, { principal: 'bob', configured: false })).toBe('two');
  expect(choose({ one: {} }, {}, { configured: false })).toBeUndefined();
});

test('G-4: audio goes only to models that accept it', () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Listen' }, { type: 'audio' }] }];
  const models = { claude: { api: 'anthropic' }, gpt: {} };
  expect(choose(models, { messages })).toBe('gpt');
  expect(choose({ claude: models.claude }, { messages })).toBeUndefined();
  expect(choose(models, { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] })).toBe('claude');
});
