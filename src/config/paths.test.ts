import { expect, it } from 'vitest';
import { defaultStorePath } from './paths.ts';

it.each([
  ['linux', { HOME: '/home/ann' }, '/home/ann/.local/share/meanwhile/meanwhile.db'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: '/data' }, '/data/meanwhile/meanwhile.db'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: 'data' }, '/home/ann/.local/share/meanwhile/meanwhile.db'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: '' }, '/home/ann/.local/share/meanwhile/meanwhile.db'],
  ['darwin', { HOME: '/Users/ann' }, '/Users/ann/Library/Application Support/meanwhile/meanwhile.db'],
  ['win32', { LOCALAPPDATA: 'C:\\Local' }, 'C:\\Local\\meanwhile\\meanwhile.db'],
  ['win32', { USERPROFILE: 'C:\\Ann' }, 'C:\\Ann\\AppData\\Local\\meanwhile\\meanwhile.db'],
] as const)('P-1: the store has a default place on %s with %o', (platform, env, path) => {
  expect(defaultStorePath(env, platform)).toBe(path);
});
