import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { ROOT } from '../../../tests/support/imports.ts';
import { removeFile, replaceFile } from './files.ts';

/** Tries to write more than the limit for files allows. With a handler for its signal, writing fails as on a full disk. */
const SCRIPT = `
import { replaceFile } from ${JSON.stringify(join(ROOT, 'src/cli/link/files.ts'))};
process.on('SIGXFSZ', () => {});
try {
  replaceFile(process.argv[1], 'new'.repeat(10_000));
} catch (error) {
  console.log(error.code);
}`;

test('L-1: if a file cannot be written completely, the old content stays', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'a.json');
  writeFileSync(file, 'old');
  const command = 'ulimit -f 8 && exec "$0" --import tsx --input-type=module -e "$1" "$2"';
  const env = { ...process.env, TSX_DISABLE_CACHE: '1' };
  const args = ['-c', command, process.execPath, SCRIPT, file];
  expect(execFileSync('sh', args, { cwd: ROOT, env, encoding: 'utf8' })).toBe('EFBIG\n');
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['a.json']);
});

test('L-1: a read-only file is neither replaced nor removed', async () => {
  const file = join(await temporaryFolder(), 'a.json');
  writeFileSync(file, 'old');
  chmodSync(file, 0o444);
  const message = `it is read-only; chmod u+w ${file} makes it writable`;
  expect(() => replaceFile(file, 'new')).toThrow(message);
  expect(() => removeFile(file, undefined)).toThrow(message);
  expect(readFileSync(file, 'utf8')).toBe('old');
});

test.runIf(process.getuid?.() === 0)('L-1: a file keeps its owner when root changes it', async () => {
  const file = join(await temporaryFolder(), 'a.json');
  writeFileSync(file, 'old');
  chownSync(file, 1234, 2345);
  chmodSync(file, 0o640);
  replaceFile(file, 'new');
  const { uid, gid, mode } = statSync(file);
  expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 1234, gid: 2345, mode: 0o640 });
  expect(readFileSync(file, 'utf8')).toBe('new');
});
