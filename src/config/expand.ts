/** `${VAR}` and `${VAR:-default}` in the strings of a parsed file. Keys are left alone. */

import type { Environment } from './paths.ts';

export type Path = readonly (string | number)[];

/** What is wrong at a place in the file. */
export interface Mistake {
  path: Path;
  message: string;
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Deeper than any setting, and shallow enough for every walk over the file. */
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
    // Assigned below it would set the prototype, and the schema would not see it at all.
    if (key === '__proto__') mistakes.push({ path: [...path, key], message: 'this name is not allowed' });
    else expanded[key] = expandAt(item, [...path, key], env, mistakes);
  }
  return expanded;
}

function expandString(text: string, path: Path, env: Environment, mistakes: Mistake[]): string {
  return text.replaceAll(VARIABLE, (whole, name: string, fallback: string | undefined) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return value || fallback;
    if (value !== undefined) return value;
    mistakes.push({
      path,
      message: `the environment variable ${name} is not set; set it, or give a default: \${${name}:-default}`,
    });
    return whole;
  });
}
