import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { inheritedEnvironment } from './child-environment.ts';

test('B-4, X-2: a server inherits the variables that it would get from the SDK, and no others', () => {
  expect(inheritedEnvironment()).toEqual(getDefaultEnvironment());
});
