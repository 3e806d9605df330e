import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/imports.ts';
import { MUTATIONS } from './mutations.ts';

test.each(Object.entries(MUTATIONS))('K-8: the mutation %s still applies to the source', (_, { file, from }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(from)).toHaveLength(2);
});
