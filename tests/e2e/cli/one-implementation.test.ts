import { expect, test } from 'vitest';
import { sourceFiles } from '../../support/imports.ts';

const product = (await sourceFiles('src')).filter(({ path }) => !path.endsWith('.test.ts'));

const importsOf = (room: string): string[] =>
  product.filter(({ path }) => path.startsWith(`src/${room}/`)).flatMap(({ imports }) => imports);

test('C-2: the command line uses only the client library, and the library uses src/south', () => {
  const protocol = (target: string): boolean => target.startsWith('@modelcontextprotocol/');
  expect(importsOf('cli').filter((target) => protocol(target) || target.startsWith('src/south/'))).toEqual([]);
  expect(importsOf('cli')).toContain('src/client/task-client.ts');
  expect(importsOf('client').filter(protocol)).toEqual([]);
  expect(importsOf('client')).toContain('src/south/connection.ts');
  expect(importsOf('south').filter(protocol)).not.toEqual([]);
});
