import { rename } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Our client alone, or the gateway with a plain client in front of it. */
export type Through = 'client' | 'gateway';

const SOURCE = fileURLToPath(new URL('client-driver.ts', import.meta.url));
const BUNDLE = fileURLToPath(
  new URL('../../node_modules/.cache/meanwhile-tests/conformance-client.mjs', import.meta.url),
);

/** Makes one file of the driver, which is started for each scenario; returns the command that starts it. */
export async function bundleDriver(through: Through): Promise<string> {
  const temporary = `${BUNDLE}.${process.pid}`;
  await build({
    entryPoints: [SOURCE],
    outfile: temporary,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // A native module cannot be bundled.
    external: ['libsql'],
    // CommonJS dependencies call `require` for the modules of Node.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  });
  // Renaming keeps a run going on at the same time from starting half a file.
  await rename(temporary, BUNDLE);
  return `"${process.execPath}" "${BUNDLE}" ${through}`;
}
