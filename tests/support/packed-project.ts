/** The project of a user who has done in an empty folder what pages of ours say. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '../../src/lib/version.ts';
import { ROOT } from './imports.ts';
import { localRegistry } from './local-registry.ts';
import { defer } from './owned.ts';

const run = promisify(execFile);

/** Where the clone is, in the pages. */
const CLONE = '/path/to/meanwhile';

export interface Project {
  folder: string;
  env: Record<string, string>;
  /** The packed package. */
  tarball: string;
  /** What each page says to type after the package is installed, block by block. */
  next: Record<string, string[]>;
  remove: () => Promise<void>;
}

/** The pages have to begin alike. Whoever makes it removes it. */
export async function projectAsToldBy(pages: string[]): Promise<Project> {
  const commands = await Promise.all(pages.map(async (page) => commandsIn(await readFile(join(ROOT, page), 'utf8'))));
  const [pack, install] = commands[0] ?? [];
  const beginAlike = commands.every((each) => each[0] === pack && each[1] === install);
  if (!beginAlike || pack !== 'npm ci && npm pack --silent\n' || !install?.includes(CLONE)) {
    throw new Error(`${pages.join(' and ')} do not begin with packing and installing`);
  }
  const next = Object.fromEntries(pages.map((page, index) => [page, commands[index]?.slice(2) ?? []]));
  const registry = await localRegistry();
  const base = await mkdtemp(join(tmpdir(), 'meanwhile-user-'));
  const [folder, home, clone] = [join(base, 'project'), join(base, 'home'), join(base, 'clone')];
  await Promise.all([folder, home, clone].map((path) => mkdir(path)));
  const project: Project = {
    folder,
    // Nothing of the machine's own configuration, and no network.
    env: { PATH: process.env['PATH'] ?? '', HOME: home, npm_config_registry: registry.url },
    tarball: join(clone, `meanwhile-${VERSION}.tgz`),
    next,
    async remove() {
      await registry.close();
      await rm(base, { recursive: true, force: true });
    },
  };
  try {
    // Built already, like the program in the other tests; building again would disturb them.
    await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', clone], { cwd: ROOT });
    await run('sh', ['-ec', install.replaceAll(CLONE, clone)], { cwd: folder, env: project.env });
  } catch (error) {
    await project.remove();
    throw error;
  }
  return project;
}

/** The blocks of a page that are typed into a shell. */
function commandsIn(page: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, language, text = '']) => (language ? [] : [text]));
}

export interface Typed {
  /** What it has printed so far. */
  said: () => string;
  type: (line: string) => void;
  code: Promise<number | null>;
  kill: () => Promise<void>;
}

/** Types a command in the project. All that it starts ends with it. */
export function typed({ folder, env }: Project, command: string, more: Record<string, string> = {}): Typed {
  const child = spawn('sh', ['-c', command], { cwd: folder, env: { ...env, ...more }, detached: true });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
  }
  const kill = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL');
    }
    await exited;
  };
  defer(kill);
  return { said: () => said, type: (line) => void child.stdin.write(`${line}\n`), code: exited, kill };
}

/** A package of this project in that one, as if its user had installed it; `bin` are its programs. */
export async function linkInto({ folder }: Project, name: string, bin: Record<string, string> = {}): Promise<void> {
  const link = async (target: string, place: string): Promise<void> => {
    await mkdir(dirname(join(folder, 'node_modules', place)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', target), join(folder, 'node_modules', place));
  };
  await link(name, name);
  for (const [program, file] of Object.entries(bin)) await link(join(name, file), join('.bin', program));
  const manifest = join(folder, 'package.json');
  const written = JSON.parse(await readFile(manifest, 'utf8')) as { dependencies?: Record<string, string> };
  const dependencies = { ...written.dependencies, [name]: '*' };
  await writeFile(manifest, JSON.stringify({ ...written, dependencies }));
}
