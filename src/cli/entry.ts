#!/usr/bin/env node
/**
 * Checks the version of Node before anything else is imported: on an older Node a static import of the program would fail
 * with an obscure error. So nothing else may be imported here.
 */
import nodeModule from 'node:module';
import packageJson from '../../package.json' with { type: 'json' };

const needed = packageJson.engines.node.replace(/^\D+/, '');
const [major = 0, minor = 0] = needed.split('.').map(Number);
const [thisMajor = 0, thisMinor = 0] = process.versions.node.split('.').map(Number);

if (thisMajor > major || (thisMajor === major && thisMinor >= minor)) {
  // From Node 22.1 on, compiled code is kept for the next start.
  (nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();
  void import('./index.ts');
} else {
  process.stderr.write(
    `meanwhile: Node ${needed} or newer is required; this is ${process.versions.node} (${process.execPath}). ` +
      `Install a newer version, or set its path as "command" in your client's config.\n`,
  );
  process.exitCode = 2;
}
