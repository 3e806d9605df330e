/** How a person gets to the console: the link that `serve` prints, and the file in which other commands find it. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launchFile, readLaunch, removeLaunch, writeLaunch, type Launch } from '../../../src/cli/launch-file.ts';
import { raw, withToken } from '../../support/console.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { logged, serveProgram } from '../../support/program.ts';

test('W-1, W-7: serve writes the launch link to a file with mode 600, and removes it at the end', async () => {
  const store = join(await temporaryFolder(), 'store.db');
  const program = await serveProgram(['--config', await configFile({}, { store })]);
  const file = `${store}.console.json`;
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const launch = (await readLaunch(file)) as Launch;
  expect(launch).toEqual({
    url: program.url.replace('/mcp', '/console'),
    key: expect.any(String),
    pid: program.child.pid,
  });
  const gateway = { url: program.url, console: launch };
  expect((await withToken(gateway, launch.key).get('/me')).body).toMatchObject({ operator: true });
  // The log, which others may read, has the address alone.
  const { data } = await logged(program, 'console');
  expect(data).toMatchObject({ url: launch.url });
  expect(program.stderr.join('\n')).not.toContain(launch.key);
  await program.stop();
  expect(await readLaunch(file)).toBeUndefined();
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

test('W-1: a gateway whose launch file cannot be written starts and logs a warning', async () => {
  const folder = await temporaryFolder();
  const store = join(folder, 'store.db');
  await mkdir(join(`${store}.console.json`, 'in the way'), { recursive: true });
  const program = await serveProgram(['--config', await configFile({}, { store })]);
  expect((await logged(program, 'launch_file_failed')).data).toMatchObject({ file: `${store}.console.json` });
  expect((await raw(program, '/api/v1/me')).status).toBe(401);
});

test('W-1: a missing launch file or one of a dead gateway is ignored', async () => {
  const file = join(await temporaryFolder(), 'launch.json');
  expect(await readLaunch(file)).toBeUndefined();
  const mine = { url: 'http://127.0.0.1:1/console', key: 'mine', pid: process.pid };
  await writeLaunch(file, mine);
  expect(await readLaunch(file)).toEqual(mine);
  await removeLaunch(file, { key: 'of another gateway' });
  expect(await readLaunch(file)).toEqual(mine);
  // The largest that a process can have, and so none has it.
  await writeLaunch(file, { ...mine, pid: 2 ** 22 + 1 });
  expect(await readLaunch(file)).toBeUndefined();
  for (const text of ['', '{', '[]', '{"url":1}', '{"url":"x","key":"y","pid":-1}']) {
    await writeFile(file, text);
    expect(await readLaunch(file), text).toBeUndefined();
  }
});

test('W-1: a launch file that others could read is replaced by a private one', async () => {
  const file = join(await temporaryFolder(), 'launch.json');
  await writeFile(file, 'old', { mode: 0o666 });
  await writeLaunch(file, { url: 'http://127.0.0.1:1/console', key: 'mine', pid: process.pid });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).toContain('mine');
});

test('W-1: a store that is no file has one launch file per address in the data folder', () => {
  const env = { HOME: '/home/ann' };
  const at = (store: string, port: number): string => launchFile({ store, host: '127.0.0.1', port }, env);
  expect(at('/data/a.db', 1)).toBe('/data/a.db.console.json');
  expect(at('/data/a.db', 2)).toBe('/data/a.db.console.json');
  const files = [at(':memory:', 1), at(':memory:', 2), at('postgres://x:secret@y/z', 1)];
  expect(new Set(files).size).toBe(3);
  for (const file of files) expect(file).toMatch(/\/console-[\da-f]{16}\.json$/);
  expect(files.join(' ')).not.toContain('secret');
});
