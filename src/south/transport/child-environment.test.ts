import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { inheritedEnvironment } from './child-environment.ts';

test('B-4, X-2: a server inherits the same environment variables as with the SDK', () => {
  expect(inheritedEnvironment()).toEqual(getDefaultEnvironment());
});
