import { describe, expect, test } from 'vitest';
import { exactNumber } from '../../lib/exact-json.ts';
import { decide, mismatch } from './decide.ts';
import { hintsOf } from './hints.ts';
import { compileRule, type Rule } from './rule.ts';

/** The place of the rule that decides; `undefined` if the call is allowed because none matches. */
function decider(
  rules: Rule[],
  call: { server?: string; tool?: string; principal?: string; args?: Rule['args']; annotations?: unknown } = {},
): number | undefined {
  const { server = 'files', tool = 'delete', principal = 'local', args = {}, annotations = {} } = call;
  const candidates = rules.map(compileRule).filter(({ isFor }) => isFor(server, tool, principal));
  const verdict = decide(candidates, args, hintsOf(annotations));
  return verdict === 'hints' ? undefined : verdict?.index;
}

const matchesArgs = (args: Rule['args'], given: Record<string, unknown>, then: Rule['then'] = 'deny'): boolean =>
  decider([{ args, then }], { args: given }) === 0;

test('G-1: numbers in rules match regardless of the sign of zero, and never match strings', () => {
  expect(matchesArgs({ keep: 0 }, { keep: -0 })).toBe(true);
  expect(matchesArgs({ keep: [0] }, { keep: [-0] })).toBe(true);
  expect(matchesArgs({ keep: 0 }, { keep: '0' })).toBe(false);
});

describe('which rule decides', () => {
  test('G-1: the first matching rule; without a match the call is allowed', () => {
    const rules: Rule[] = [
      { server: 'prod-*', tool: 'delete_*', then: 'deny' },
      { tool: '*_file', then: 'ask' },
      { server: 'prod-db', then: 'allow' },
    ];
    expect(decider(rules, { server: 'prod-db', tool: 'delete_file' })).toBe(0);
    expect(decider(rules, { server: 'test', tool: 'delete_file' })).toBe(1);
    expect(decider(rules, { server: 'prod-db', tool: 'query' })).toBe(2);
    expect(decider(rules, { server: 'test', tool: 'query' })).toBeUndefined();
    expect(decider([])).toBeUndefined();
  });

  test('G-1: a rule without conditions matches every call, and names ignore case', () => {
    expect(decider([{ then: 'deny' }])).toBe(0);
    expect(decider([{ tool: 'DELETE', then: 'deny' }])).toBe(0);
    expect(decider([{ tool: 'delet', then: 'deny' }])).toBeUndefined();
  });

  test('G-1: rules can match the principal', () => {
    const rules: Rule[] = [{ principal: 'ada', then: 'allow' }, { then: 'deny' }];
    expect(decider(rules, { principal: 'ada' })).toBe(0);
    expect(decider(rules, { principal: 'adam' })).toBe(1);
  });

  test('G-1: rules can match annotations, with the defaults of the specification', () => {
    const destructive: Rule[] = [{ annotations: { destructiveHint: true }, then: 'ask' }];
    expect(decider(destructive)).toBe(0);
    expect(decider(destructive, { annotations: undefined })).toBe(0);
    expect(decider(destructive, { annotations: 'nonsense' })).toBe(0);
    expect(decider(destructive, { annotations: { destructiveHint: 'no' } })).toBe(0);
    expect(decider(destructive, { annotations: { destructiveHint: false } })).toBeUndefined();
    expect(decider(destructive, { annotations: { readOnlyHint: true } })).toBeUndefined();
    expect(decider(destructive, { annotations: { readOnlyHint: true, destructiveHint: true } })).toBe(0);
    const open: Rule[] = [{ annotations: { openWorldHint: true, idempotentHint: false }, then: 'ask' }];
    expect(decider(open)).toBe(0);
    expect(decider(open, { annotations: { idempotentHint: true } })).toBeUndefined();
  });

  test('G-1: annotations are needed only if a rule that may decide names them', () => {
    const rules = [
      { args: { force: true }, annotations: { destructiveHint: true }, then: 'ask' },
      { then: 'allow' },
    ] as const;
    const compiled = rules.map((rule, index) => compileRule(rule, index));
    expect(decide(compiled, { force: true }, undefined)).toBe('hints');
    expect(decide(compiled, { force: false }, undefined)).toBe(compiled[1]);
  });

  test('G-1: the first condition that a call does not meet is named', () => {
    const call = { server: 'files', tool: 'delete', principal: 'local', args: { path: '/tmp/a' } };
    const hints = hintsOf({ readOnlyHint: true });
    const all: Rule = { server: 'files', tool: 'delete', principal: 'local', args: { path: '/tmp/*' }, then: 'ask' };
    expect(mismatch(all, call, hints)).toBeUndefined();
    expect(mismatch({ ...all, server: 'x' }, call, hints)).toBe('server');
    expect(mismatch({ ...all, tool: 'x' }, call, hints)).toBe('tool');
    expect(mismatch({ ...all, principal: 'x' }, call, hints)).toBe('principal');
    expect(mismatch({ ...all, args: { path: '/etc/*' } }, call, hints)).toBe('args');
    expect(mismatch({ ...all, annotations: { readOnlyHint: false } }, call, hints)).toBe('annotations');
  });
});

describe('arguments', () => {
  test('G-1: strings match patterns, and other values match if equal', () => {
    expect(matchesArgs({ path: '/etc/*' }, { path: '/etc/passwd' })).toBe(true);
    expect(matchesArgs({ path: '/etc/*' }, { path: '/home' })).toBe(false);
    expect(matchesArgs({ path: '/etc/*' }, {})).toBe(false);
    expect(matchesArgs({ path: '*' }, { path: 1 })).toBe(false);
    expect(matchesArgs({ force: true }, { force: true })).toBe(true);
    expect(matchesArgs({ force: true }, { force: 'true' })).toBe(false);
    expect(matchesArgs({ n: null }, { n: null })).toBe(true);
    expect(matchesArgs({ list: [1, { a: 2 }] }, { list: [1, { a: 2 }] })).toBe(true);
    expect(matchesArgs({ list: [1] }, { list: [1, 2] })).toBe(false);
    // A number that is a text only in this program matches no pattern.
    expect(matchesArgs({ id: '*' }, { id: exactNumber('9007199254740993') })).toBe(false);
  });

  test('G-1: paths select fields of objects and items of lists, never inherited fields', () => {
    expect(matchesArgs({ 'options.force': true }, { options: { force: true } })).toBe(true);
    expect(matchesArgs({ 'items.1.name': 'b' }, { items: [{ name: 'a' }, { name: 'b' }] })).toBe(true);
    expect(matchesArgs({ 'options.force': true }, { options: 'force' })).toBe(false);
    expect(matchesArgs({ 'constructor.name': '*' }, {})).toBe(false);
  });

  test('G-1: one matching item is enough to deny or ask, and all items must match to allow', () => {
    const args = { 'paths.*': '/tmp/*' };
    const mixed = { paths: ['/tmp/a', '/etc/passwd'] };
    const harmless = { paths: ['/tmp/a', '/tmp/b'] };
    expect(matchesArgs(args, mixed, 'deny')).toBe(true);
    expect(matchesArgs(args, mixed, 'ask')).toBe(true);
    expect(matchesArgs(args, mixed, 'allow')).toBe(false);
    expect(matchesArgs(args, harmless, 'allow')).toBe(true);
    expect(matchesArgs(args, { paths: [] }, 'allow')).toBe(false);
    expect(matchesArgs({ 'items.*.to': 'x' }, { items: { a: { to: 'y' }, b: { to: 'x' } } })).toBe(true);
  });

  test('G-1: a pattern with many stars is matched in less than a second', () => {
    const pattern = '*a'.repeat(200);
    const started = performance.now();
    expect(matchesArgs({ text: pattern }, { text: 'a'.repeat(199) + 'b'.repeat(20_000) })).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
