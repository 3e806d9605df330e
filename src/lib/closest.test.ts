import { expect, it } from 'vitest';
import { closest } from './closest.ts';

const KNOWN = ['$schema', 'mcpServers', 'meanwhile', 'url', 'env'];

it.each([
  ['mcpservers', 'mcpServers'],
  ['servers', 'mcpServers'],
  ['meanwile', 'meanwhile'],
  ['emanwhlie', 'meanwhile'],
  ['ulr', 'url'],
  ['uri', 'url'],
  ['environment', 'env'],
  ['zebra', undefined],
  ['x', undefined],
  ['', undefined],
])('X-4: the closest known key to %j is %j', (key, near) => {
  expect(closest(key, KNOWN)).toBe(near);
});

it('X-3: a name that is too long to be a typo is not compared', () => {
  expect(closest(`serv${'e'.repeat(200)}`, ['serve'])).toBeUndefined();
  expect(closest('serv', ['serve'])).toBe('serve');
});

it('X-3: no suggestion is made among too many names, and names that are too long are skipped', () => {
  const many = Array.from({ length: 300_000 }, (_, index) => `tool_number_${index}`);
  expect(closest('tool_number', many)).toBeUndefined();
  expect(closest('serv', ['serv'.repeat(1_000_000), 'serve'])).toBe('serve');
});
