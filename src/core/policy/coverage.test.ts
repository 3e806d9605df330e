import { describe, expect, test } from 'vitest';
import { coveredBy, coversPattern } from './coverage.ts';
import type { Rule } from './rule.ts';

describe('rules that can never decide', () => {
  const covers = (earlier: Omit<Rule, 'then'>, later: Omit<Rule, 'then'>): boolean =>
    coveredBy(
      [
        { ...earlier, then: 'deny' },
        { ...later, then: 'deny' },
      ],
      1,
    ) === 0;

  test('G-1: a rule after one that matches every call', () => {
    expect(coveredBy([{ tool: 'a', then: 'ask' }, { then: 'allow' }, { server: 'x', then: 'deny' }], 2)).toBe(1);
    expect(coveredBy([{ then: 'allow' }], 0)).toBe(-1);
  });

  test('G-1: a rule after one whose conditions its own conditions imply', () => {
    expect(covers({ tool: 'delete_*' }, { tool: 'delete_file', server: 'x' })).toBe(true);
    expect(covers({ tool: 'delete_file' }, { tool: 'delete_*' })).toBe(false);
    expect(covers({ server: '*' }, {})).toBe(true);
    expect(covers({ server: 'x' }, {})).toBe(false);
    expect(
      covers({ annotations: { readOnlyHint: true } }, { annotations: { readOnlyHint: true, openWorldHint: true } }),
    ).toBe(true);
    expect(covers({ annotations: { readOnlyHint: true } }, { annotations: { readOnlyHint: false } })).toBe(false);
    expect(covers({ args: { path: '/etc/*' } }, { args: { path: '/etc/passwd', force: true } })).toBe(true);
    expect(covers({ args: { path: '/etc/*' } }, { args: { force: true } })).toBe(false);
    expect(covers({ args: { force: true } }, { args: { force: true } })).toBe(true);
    expect(covers({ args: { force: true } }, { args: { force: false } })).toBe(false);
    expect(covers({ principal: 'ada' }, { principal: 'eve' })).toBe(false);
  });

  test('G-1: a rule after an allow that needs all items can decide', () => {
    const args = { 'paths.*': '/tmp/*' };
    expect(
      coveredBy(
        [
          { args, then: 'allow' },
          { args, then: 'deny' },
        ],
        1,
      ),
    ).toBe(-1);
    expect(
      coveredBy(
        [
          { args, then: 'deny' },
          { args, then: 'allow' },
        ],
        1,
      ),
    ).toBe(0);
  });

  test.each([
    ['*', '', true],
    ['*', '*a?', true],
    ['a*', 'ab*', true],
    ['a*c', 'a*b*c', true],
    ['a?c', 'a*c', false],
    ['a?', 'a?', true],
    ['A', 'a', true],
    ['*a', '*', false],
    ['??', '*?', false],
    ['a*', 'b', false],
    ['', '', true],
    ['', '*', false],
  ])('G-1: pattern %j covers %j: %s', (wide, narrow, expected) => {
    expect(coversPattern(wide, narrow)).toBe(expected);
  });
});
