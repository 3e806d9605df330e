import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/gateway.ts';
import { runProgram } from './built.ts';

/** To the program, all modules of Node but one are empty, as those are to it that came later than its Node. */
const WITHOUT_MODULES = `
  export async function resolve(specifier, context, next) {
    const ours = context.parentURL?.includes('/dist/') && specifier.startsWith('node:') && specifier !== 'node:module';
    return ours ? { url: 'data:text/javascript,export {}', shortCircuit: true } : next(specifier, context);
  }`;

/** What makes this Node look like another to the program that it is about to run. */
async function looksLike(version: string): Promise<{ env: Record<string, string> }> {
  const file = join(await temporaryFolder(), 'looks-like.mjs');
  const hooks = `data:text/javascript,${encodeURIComponent(WITHOUT_MODULES)}`;
  await writeFile(
    file,
    `import { register } from 'node:module';
     register(${JSON.stringify(hooks)});
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
  return { env: { NODE_OPTIONS: `--import=${file}` } };
}

const NEEDED = packageJson.engines.node.replace('>=', '');
const [MAJOR, MINOR] = NEEDED.split('.').map(Number) as [number, number];

test.each(['--version', '--help', 'serve', 'stdio', 'doctor', 'call demo x --json', 'nonsense'])(
  'C-3, O-1: an old Node version is an error before anything else: %s',
  async (line) => {
    const { code, stdout, stderr } = await runProgram(line.split(' '), await looksLike('18.20.8'));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `meanwhile: Node ${NEEDED} or newer is required; this is 18.20.8 (${process.execPath}). ` +
        `Install a newer version, or set its path as "command" in your client's config.`,
    );
  },
);

test.each([
  [`${MAJOR}.${MINOR - 1}.9`, true],
  [`${MAJOR - 1}.${MINOR + 5}.0`, true],
  [`${MAJOR}.${MINOR}.0`, false],
  [`${MAJOR}.${MINOR + 1}.0-nightly`, false],
  [`${MAJOR + 2}.0.0`, false],
])('C-3: Node %s is refused as too old: %s', async (version, tooOld) => {
  const { code, stderr } = await runProgram(['--version'], await looksLike(version));
  expect(stderr.includes('or newer')).toBe(tooOld);
  // What is let through goes on, and fails here at the first import: nothing was linked before.
  expect(stderr.includes('SyntaxError: The requested module')).toBe(!tooOld);
  expect(code).toBe(tooOld ? 2 : 1);
});
