import { describe, expect, it } from 'vitest';
import { expand } from './expand.ts';

const ENV = { TOKEN: 'secret', EMPTY: '', UNICODE: 'grün 🌱', NESTED: '${TOKEN}' };

describe('expand', () => {
  it('B-1: fills variables into every string and leaves the rest alone', () => {
    const file = { a: 'Bearer ${TOKEN}', b: ['${UNICODE}', 1, null, true], '${TOKEN}': { c: '${TOKEN}${TOKEN}' } };
    expect(expand(file, ENV)).toEqual({
      value: { a: 'Bearer secret', b: ['grün 🌱', 1, null, true], '${TOKEN}': { c: 'secretsecret' } },
      mistakes: [],
    });
  });

  it.each([
    ['${MISSING:-here}', 'here'],
    ['${EMPTY:-here}', 'here'],
    ['${TOKEN:-here}', 'secret'],
    ['${MISSING:-}', ''],
    ['${EMPTY}', ''],
    ['${MISSING:-http://x:1/}', 'http://x:1/'],
    ['${NESTED}', '${TOKEN}'],
    ['$TOKEN ${} ${1} ${x%y}', '$TOKEN ${} ${1} ${x%y}'],
  ])('B-1: %s becomes %s', (text, value) => {
    expect(expand(text, ENV)).toEqual({ value, mistakes: [] });
  });

  it('B-1: a variable that is not set is a mistake at its place', () => {
    const { mistakes } = expand({ a: [{ b: '${MISSING}' }], c: '${toString}' }, ENV);
    expect(mistakes).toEqual([
      { path: ['a', 0, 'b'], message: expect.stringContaining('MISSING is not set') },
      { path: ['c'], message: expect.stringContaining('toString is not set') },
    ]);
  });

  it('X-4: a prototype key is a mistake and changes no prototype', () => {
    const { value, mistakes } = expand(JSON.parse('{"a": {"__proto__": {"polluted": 1}}}'), ENV);
    expect(mistakes).toEqual([{ path: ['a', '__proto__'], message: 'this name is not allowed' }]);
    expect((value as { a: object }).a).not.toHaveProperty('polluted');
  });

  it('X-3: what is nested without end is refused', () => {
    const { mistakes } = expand(JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)), ENV);
    expect(mistakes).toEqual([{ path: [], message: 'nested more than 16 levels deep' }]);
  });
});
