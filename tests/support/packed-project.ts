/** A project of a user who has installed the packed package. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './imports.ts';

const run = promisify(execFile);

/** Whoever makes it removes it. `modules` are there beside the package. */
export async function packedProject(modules: readonly string[]): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'meanwhile-user-'));
  const packed = join(project, 'node_modules/meanwhile');
  await mkdir(packed, { recursive: true });
  // Built already, like the program in the other tests; building again would disturb them.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
    cwd: ROOT,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await run('tar', ['-xzf', join(project, filename), '-C', packed, '--strip-components', '1']);
  for (const name of modules) await linkInto(project, join(ROOT, 'node_modules', name), `node_modules/${name}`);
  return project;
}

export async function linkInto(project: string, target: string, name: string): Promise<void> {
  await mkdir(dirname(join(project, name)), { recursive: true });
  await symlink(target, join(project, name));
}
