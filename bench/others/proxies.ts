/** Other people's proxies in front of a server that is a program: brought here on first use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../child.ts';
import type { Era } from '../load.ts';
import { freePort } from '../../tests/support/port-to-return-to.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MODULES = join(FOLDER, 'node_modules');

export const OTHERS = ['mcp-proxy', 'supergateway'] as const;

export type Other = (typeof OTHERS)[number];

interface Manifest {
  version: string;
  bin: Record<string, string>;
  dependencies: Record<Other, string>;
}

/** Needs the network once. Tells which versions they are. */
export async function installOthers(): Promise<Record<Other, string>> {
  const { dependencies } = manifest(FOLDER);
  const isThere = (name: Other): boolean =>
    existsSync(join(MODULES, name, 'package.json')) && manifest(join(MODULES, name)).version === dependencies[name];
  if (!OTHERS.every(isThere)) await install();
  return dependencies;
}

/** In the mode in which it keeps the server running for a session, where it has one. */
export async function startOther(name: Other, server: string[], era: Era): Promise<Child> {
  const port = await freePort();
  const program = join(MODULES, name, manifest(join(MODULES, name)).bin[name] ?? '');
  const options: Record<Other, string[]> = {
    'mcp-proxy': words(`--server stream --host 127.0.0.1 --port ${port} --upstreamProtocol ${era} --`).concat(server),
    supergateway: words(`--outputTransport streamableHttp --stateful --port ${port} --logLevel none --stdio`).concat(
      server.map((word) => `"${word}"`).join(' '),
    ),
  };
  return new Child([program, ...options[name]], { url: `http://127.0.0.1:${port}/mcp` });
}

const words = (line: string): string[] => line.split(' ');

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

async function install(): Promise<void> {
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const shell = process.platform === 'win32';
  const npm = spawn('npm', args, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'], shell });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`npm ci in ${FOLDER} ended with ${String(code)}`);
}
