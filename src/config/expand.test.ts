import { describe, expect, it } from 'vitest';
import { expand } from './expand.ts';

const ENV = { TOKEN: 'secret', EMPTY: '', UNICODE: 'grün 🌱', NESTED: '${TOKEN}' };

describe('expand', () => {
  it('B-1: fills variables into every string and changes nothing else', () => {
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
    ['Bearer ${env:TOKEN}', 'Bearer secret'],
    ['${env:MISSING:-here}', 'here'],
    ['${workspaceFolder:-/here}', '/here'],
    ['${env:} ${env:1} ${VAR:0:3} ${other:x}', '${env:} ${env:1} ${VAR:0:3} ${other:x}'],
  ])('B-1: %s becomes %s', (text, value) => {
    expect(expand(text, ENV)).toEqual({ value, mistakes: [] });
  });

  it('B-1: a variable that is not set is a mistake with the path of the value', () => {
    const { mistakes } = expand({ a: [{ b: '${MISSING}' }], c: '${toString}' }, ENV);
    expect(mistakes).toEqual([
      { path: ['a', 0, 'b'], message: expect.stringContaining('MISSING is not set') },
      { path: ['c'], message: expect.stringContaining('toString is not set') },
    ]);
  });

  it.each([
    ['${workspaceFolder}/x', '${workspaceFolder} is known to editors only; write the path'],
    ['${workspaceFolder:app}', '${workspaceFolder:app} is known to editors only; write the path'],
    ['${workspaceFolderBasename}', '${workspaceFolderBasename} is known to editors only; write the name of the folder'],
    ['${userHome}/x', '${userHome} is known to editors only; write ${HOME}'],
    ['a${pathSeparator}b', '${pathSeparator} is known to editors only; write / or \\\\'],
    ['a${/}b', '${/} is known to editors only; write / or \\\\'],
    [
      'Bearer ${input:api-key}',
      '${input:api-key} is known to editors only; write ${API_KEY}, and set API_KEY in the environment',
    ],
    [
      '${config:python.path}',
      '${config:python.path} is known to editors only; write its value, or a variable of the environment as ${NAME}',
    ],
    ['${input:1}', '${input:1} is known to editors only; write its value, or a variable of the environment as ${NAME}'],
    ['${env:MISSING}', 'the environment variable MISSING is not set; set it, or give a default: ${MISSING:-default}'],
    [
      '${env:userHome}',
      'the environment variable userHome is not set; set it, or give a default: ${userHome:-default}',
    ],
  ])('B-1, X-4: %s is a mistake, and the message says what to write', (text, message) => {
    expect(expand({ a: text }, ENV).mistakes).toEqual([{ path: ['a'], message }]);
  });

  it('B-1: an environment variable with the name of an editor variable is used', () => {
    expect(expand('${workspaceFolder}', { workspaceFolder: '/w' })).toEqual({ value: '/w', mistakes: [] });
  });

  it('X-4: the key __proto__ is a mistake and changes no prototype', () => {
    const { value, mistakes } = expand(JSON.parse('{"a": {"__proto__": {"polluted": 1}}}'), ENV);
    expect(mistakes).toEqual([{ path: ['a', '__proto__'], message: 'this name is not allowed' }]);
    expect((value as { a: object }).a).not.toHaveProperty('polluted');
  });

  it('X-3: nesting that is too deep is refused', () => {
    const { mistakes } = expand(JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)), ENV);
    expect(mistakes).toEqual([{ path: [], message: 'nested more than 16 levels deep' }]);
  });
});
