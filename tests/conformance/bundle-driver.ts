import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../support/bundle-program.ts';

/** Our client alone, or the gateway with a plain client in front of it. */
export type Through = 'client' | 'gateway';

const SOURCE = fileURLToPath(new URL('client-driver.ts', import.meta.url));
const BUNDLE = fileURLToPath(
  new URL('../../node_modules/.cache/meanwhile-tests/conformance-client.mjs', import.meta.url),
);

/** Makes one file of the driver, which is started for each scenario; returns the command that starts it. */
export async function bundleDriver(through: Through): Promise<string> {
  await bundleProgram(SOURCE, BUNDLE);
  return `"${process.execPath}" "${BUNDLE}" ${through}`;
}
