import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../tests/support/gateway.ts';
import { findProgram } from './find-program.ts';

test('C-3: one word is an executable program on the PATH, or else a file in the working folder', async () => {
  const [bin, here] = [await temporaryFolder(), await temporaryFolder()];
  await writeFile(join(bin, 'runs'), '', { mode: 0o755 });
  await writeFile(join(bin, 'notes'), '', { mode: 0o644 });
  await mkdir(join(bin, 'folder'));
  await writeFile(join(here, 'server.js'), '');
  const path = `/no/such/folder:${bin}`;
  expect(findProgram('runs', path, here)).toBe('runs');
  expect(findProgram('server.js', path, here)).toBe('./server.js');
  for (const none of ['notes', 'folder', 'nothing']) expect(findProgram(none, path, here)).toBeUndefined();
});
