import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/imports.ts';
import { MUTATIONS } from './mutations.ts';

test.each(Object.entries(MUTATIONS))('K-8: the program can still be given the mistake %s', (_, { file, from }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(from)).toHaveLength(2);
});
