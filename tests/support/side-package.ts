/** Packages that only some tests need, and that `npm ci` does not bring: they are installed beside those tests, on first use. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Where the tests keep what they make once. */
export const WORKSHOP = fileURLToPath(new URL('../../node_modules/.cache/meanwhile-tests', import.meta.url));

/** How long the install may take; a test that was killed does not keep others waiting for ever. */
const INSTALL_MS = 120_000;

/** Another test may want the package at the same time: one of them makes it ready, and the other waits. */
export async function alone(name: string, isReady: () => boolean, makeReady: () => Promise<void>): Promise<void> {
  await mkdir(WORKSHOP, { recursive: true });
  const mine = join(WORKSHOP, `${name}-install`);
  try {
    await mkdir(mine);
  } catch {
    for (const end = Date.now() + INSTALL_MS; Date.now() < end && existsSync(mine) && !isReady();) await delay(200);
    if (isReady()) return;
  }
  try {
    await makeReady();
  } finally {
    await rm(mine, { recursive: true, force: true });
  }
}

/** Installs the packages of the folder beside their place, and then moves them into it at once. Needs the network. */
export async function installBeside(
  source: string,
  name: string,
  options: string[],
  finish: (modules: string) => Promise<void> = async () => {},
): Promise<void> {
  const folder = await mkdtemp(join(WORKSHOP, `${name}-`));
  const modules = join(source, 'node_modules');
  try {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(source, file), join(folder, file));
    await npmCi(folder, name, options);
    await finish(join(folder, 'node_modules'));
    await rm(modules, { recursive: true, force: true });
    await rename(join(folder, 'node_modules'), modules);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function npmCi(cwd: string, name: string, options: string[]): Promise<void> {
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...options];
  const shell = process.platform === 'win32';
  const npm = spawn('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], shell });
  await new Promise<void>((resolve, reject) => {
    npm.once('error', reject);
    npm.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ci for ${name} ended with ${String(code)}`));
    });
  });
}
