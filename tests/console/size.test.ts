import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ROOT } from '../support/imports.ts';

const MOST = 60 * 1024;

test('W-1: the files of the page have at most 60 KB in total, compressed', async () => {
  const folder = join(ROOT, 'dist/console');
  const names = (await readdir(folder)).toSorted();
  expect(names).toEqual(['app.css', 'app.js', 'icon.svg', 'index.html']);
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  expect(files.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThanOrEqual(MOST);
});
