/** Programs with one mistake each. The proof is worth something only if it finds them. */
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT } from '../support/imports.ts';
import { WORKSHOP } from '../support/side-package.ts';

interface Mutation {
  file: string;
  /** A text that is there once, and what it becomes. */
  from: string;
  to: string;
}

export const MUTATIONS: Record<string, Mutation> = {
  /** A gateway writes for a session that another one has claimed since. */
  'no-fence': {
    file: 'src/store/postgres/commit.ts',
    from: 'SELECT session_id, fence FROM ${SCHEMA}.claims JOIN claimed USING (session_id, fence)',
    to: 'SELECT session_id, claimed.fence FROM ${SCHEMA}.claims JOIN claimed USING (session_id)',
  },
  /** A gateway to which a request was forwarded, and that does not have the session, forwards it again. */
  'no-forward-guard': {
    file: 'src/north/http/listener.ts',
    from: 'if (this.#cluster === undefined || forwarded !== undefined) return here();',
    to: 'if (this.#cluster === undefined) return here();',
  },
  /** A gateway that was paused answers before it knows whether the sessions are still its own. */
  'no-doubt': {
    file: 'src/core/cluster/ownership.ts',
    from: 'return this.#wasPaused || this.#isPaused(this.#parts.clock.now());',
    to: 'return false;',
  },
};

/** The path of the program. */
export async function buildMutant(name: string): Promise<string> {
  const mutation = MUTATIONS[name];
  if (mutation === undefined) {
    throw new Error(`there is no mutation '${name}'; known: ${Object.keys(MUTATIONS).join(', ')}`);
  }
  // Beside the packages that it loads.
  const outdir = await mkdtemp(join(WORKSHOP, `${name}-`));
  await build({
    entryPoints: { cli: join(ROOT, 'src/cli/entry.ts') },
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    mainFields: ['module', 'main'],
    external: ['libsql'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    plugins: [changing(mutation)],
  });
  return join(outdir, 'cli.mjs');
}

function changing({ file, from, to }: Mutation): Plugin {
  const path = join(ROOT, file);
  return {
    name: 'mutation',
    setup(bundling) {
      let changed = false;
      bundling.onLoad({ filter: /\.ts$/ }, async (source) => {
        if (source.path !== path) return undefined;
        const text = await readFile(path, 'utf8');
        if (text.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`);
        changed = true;
        return { contents: text.replace(from, () => to), loader: 'ts' };
      });
      bundling.onEnd(() => {
        if (!changed) throw new Error(`${file} is not part of the program`);
      });
    },
  };
}
