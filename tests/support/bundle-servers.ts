/** Global set-up: one file per stdio server. */
import { bundleProgram } from './bundle-program.ts';
import { bundlePath, sourcePath, type BundledServer } from './servers.ts';

const SERVERS: readonly BundledServer[] = [
  'v1-stdio',
  'v2-stdio',
  'tasks-v1-stdio',
  'tasks-v2-stdio',
  'liar-stdio',
  'rich-stdio',
  'receiver-driver-stdio',
  'conformance-modern-stdio',
  'conformance-legacy-stdio',
];

export default async function setup(): Promise<void> {
  await Promise.all(SERVERS.map(bundle));
}

export async function bundle(name: BundledServer): Promise<void> {
  await bundleProgram(sourcePath(name), bundlePath(name), { minify: true });
}
