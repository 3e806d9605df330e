/** Expands `${VAR}`, `${env:VAR}` and `${VAR:-default}` in the strings of a parsed file, but not in keys. */

import type { Environment } from './paths.ts';

export type Path = readonly (string | number)[];

/** A mistake at a path in the file. */
export interface Mistake {
  path: Path;
  message: string;
}

const VARIABLE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Variables that only editors expand; without an error the server would receive them unexpanded. */
const OF_EDITORS = /\$\{(?:(input|command|config|workspaceFolder):(?!-)[^}]*|\/)\}/g;

/** What to write instead of a variable that only editors know. */
const INSTEAD = new Map([
  ['workspaceFolder', 'write the path'],
  ['workspaceRoot', 'write the path'],
  ['fileWorkspaceFolder', 'write the path'],
  ['workspaceFolderBasename', 'write the name of the folder'],
  ['userHome', 'write ${HOME}'],
  ['pathSeparator', 'write / or \\\\'],
]);

/** Deeper than any setting, and shallow enough for recursion over the file. */
const MAX_DEPTH = 16;

export function expand(value: unknown, env: Environment): { value: unknown; mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  return { value: expandAt(value, [], env, mistakes), mistakes };
}

function expandAt(value: unknown, path: Path, env: Environment, mistakes: Mistake[]): unknown {
  if (typeof value === 'string') return expandString(value, path, env, mistakes);
  if (typeof value !== 'object' || value === null) return value;
  if (path.length >= MAX_DEPTH) {
    mistakes.push({ path: [], message: `nested more than ${MAX_DEPTH} levels deep` });
    return undefined;
  }
  if (Array.isArray(value)) return value.map((item, index) => expandAt(item, [...path, index], env, mistakes));
  const expanded: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    // The assignment below would set the prototype, and the schema would not see the key.
    if (key === '__proto__') mistakes.push({ path: [...path, key], message: 'this name is not allowed' });
    else expanded[key] = expandAt(item, [...path, key], env, mistakes);
  }
  return expanded;
}

function expandString(text: string, path: Path, env: Environment, mistakes: Mistake[]): string {
  for (const [whole, kind] of text.matchAll(OF_EDITORS)) {
    mistakes.push({ path, message: `${whole} is known to editors only; ${insteadOf(whole, kind ?? 'pathSeparator')}` });
  }
  return text.replaceAll(VARIABLE, (whole, name: string, fallback: string | undefined) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return value || fallback;
    if (value !== undefined) return value;
    const instead = INSTEAD.get(name);
    const message =
      instead === undefined || whole.startsWith('${env:')
        ? `the environment variable ${name} is not set; set it, or give a default: \${${name}:-default}`
        : `${whole} is known to editors only; ${instead}`;
    mistakes.push({ path, message });
    return whole;
  });
}

function insteadOf(whole: string, kind: string): string {
  const known = INSTEAD.get(kind);
  if (known !== undefined) return known;
  const id = whole.slice(`\${${kind}:`.length, -1);
  const name = id.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase();
  // Editors ask for an input because it may be a secret, so it belongs in the environment.
  if (kind === 'input' && /^[A-Z_]/.test(name)) return `write \${${name}}, and set ${name} in the environment`;
  return 'write its value, or a variable of the environment as ${NAME}';
}
