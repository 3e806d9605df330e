import { rename } from 'node:fs/promises';
import { build, type BuildOptions } from 'esbuild';

/** Makes one file of a program, because one that loads its modules one by one starts slowly. */
export async function bundleProgram(
  source: string,
  target: string,
  options: Pick<BuildOptions, 'minify'> = {},
): Promise<void> {
  const temporary = `${target}.${process.pid}.mjs`;
  await build({
    entryPoints: [source],
    outfile: temporary,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Like the build: some packages cannot be bundled by their CommonJS entry.
    mainFields: ['module', 'main'],
    // A native module cannot be bundled.
    external: ['libsql'],
    // CommonJS dependencies call `require` for the modules of Node.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    ...options,
  });
  // Renaming keeps a test run going on at the same time from starting half a file.
  await rename(temporary, target);
}
