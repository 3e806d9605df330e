import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../../../src/main.ts';
import type { Json } from './way.ts';

/** The name of the server of the suite. */
export const SERVER = 'suite';

/** Nothing of the machine's own configuration gets in. */
export async function configFor(url: string, auth: Json | undefined): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-conformance-'));
  try {
    const file = join(folder, 'meanwhile.json');
    const meanwhile = { port: 0, store: ':memory:' };
    await writeFile(file, JSON.stringify({ mcpServers: { [SERVER]: { url, ...(auth && { auth }) } }, meanwhile }));
    return await loadConfig({ flags: { config: file }, env: {}, cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}
