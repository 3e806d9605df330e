/** Where a running gateway leaves the link to its console, for other commands of the same user on this machine. */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataFolder, type Environment } from '../config/paths.ts';
import type { Settings } from '../config/schema.ts';
import { codeOf } from '../lib/log.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import * as z from '../lib/schema/kinds.ts';

const schema = z.object({
  /** The address of the console. */
  url: z.string(),
  /** Signs in to the console, and is a bearer token of the API. */
  key: z.string(),
  pid: z.int().min(1),
});

/** How to reach the console of a running gateway. */
export type Launch = z.Output<typeof schema>;

type Where = Pick<Settings, 'store' | 'host' | 'port'>;

/** Beside the store if that is a file, which only one gateway uses; otherwise in the data folder. */
export function launchFile({ store, host, port }: Where, env: Environment): string {
  if (store !== ':memory:' && !isPostgresUrl(store)) return `${store}.console.json`;
  const name = createHash('sha256').update(`${store}\n${host}:${port}`).digest('hex').slice(0, 16);
  return join(dataFolder(env), `console-${name}.json`);
}

/** Only its user can read the file, which holds a key. */
export async function writeLaunch(file: string, launch: Launch): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const fresh = `${file}.${launch.pid}`;
  // A new file, since an existing one may have other permissions.
  await rm(fresh, { force: true });
  await writeFile(fresh, JSON.stringify(launch), { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
}

/** `undefined` if no running gateway has written it. */
export async function readLaunch(file: string): Promise<Launch | undefined> {
  const launch = await read(file);
  return launch !== undefined && isRunning(launch.pid) ? launch : undefined;
}

/** Removes the file, unless another gateway has written it since. */
export async function removeLaunch(file: string, { key }: Pick<Launch, 'key'>): Promise<void> {
  if ((await read(file))?.key === key) await rm(file, { force: true });
}

async function read(file: string): Promise<Launch | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    // Not written by a gateway.
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists, but belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}
