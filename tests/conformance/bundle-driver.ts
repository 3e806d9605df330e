import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../support/bundle-program.ts';

/** Our client alone, or the gateway with a plain client in front of it. */
export type Through = 'client' | 'gateway';

const SOURCE = fileURLToPath(new URL('client-driver.ts', import.meta.url));
const BUNDLE = fileURLToPath(
  new URL('../../node_modules/.cache/meanwhile-tests/conformance-client.cjs', import.meta.url),
);

/** Where the driver goes in vain, which is enough to compile its code. */
const NO_SERVER = 'http://127.0.0.1:9/mcp';

/** Makes one file of the driver, which is started for each scenario; returns the command that starts it. */
export async function bundleDriver(through: Through): Promise<string> {
  await bundleProgram(SOURCE, BUNDLE, { args: ['client', NO_SERVER], request: { method: 'tools/list' } });
  return `"${process.execPath}" "${BUNDLE}" ${through}`;
}
