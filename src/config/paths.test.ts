import { expect, it } from 'vitest';
import { dataFolder } from './paths.ts';

it.each([
  ['linux', { HOME: '/home/ann' }, '/home/ann/.local/share/meanwhile'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: '/data' }, '/data/meanwhile'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: 'data' }, '/home/ann/.local/share/meanwhile'],
  ['linux', { HOME: '/home/ann', XDG_DATA_HOME: '' }, '/home/ann/.local/share/meanwhile'],
  ['darwin', { HOME: '/Users/ann' }, '/Users/ann/Library/Application Support/meanwhile'],
  ['win32', { LOCALAPPDATA: 'C:\\Local' }, 'C:\\Local\\meanwhile'],
  ['win32', { USERPROFILE: 'C:\\Ann' }, 'C:\\Ann\\AppData\\Local\\meanwhile'],
] as const)('P-1: the default folder of the store on %s with %o', (platform, env, path) => {
  expect(dataFolder(env, platform)).toBe(path);
});
