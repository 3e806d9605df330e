/** What the files of a folder import, read from their text. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** From the root of the project, with `/`. */
  path: string;
  text: string;
  /** Files of the project it imports, as paths like the one above; packages as their name. */
  imports: string[];
}

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"])([^'"\n]+)\1/g;

export async function sourceFiles(folder: string): Promise<SourceFile[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true });
  return names
    .filter((name) => /\.tsx?$/.test(name) && !name.split(sep).includes('node_modules'))
    .map((name) => read(join(folder, name)))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map(([, , target = '']) =>
    target.startsWith('.') ? slashes(relative(ROOT, join(ROOT, dirname(path), target))) : target,
  );
  return { path: slashes(path), text, imports: [...new Set(imports)] };
}

const slashes = (path: string): string => path.split(sep).join('/');

/** A path of imports that leads back to where it began, if there is one. */
export function findCycle(files: readonly SourceFile[]): string[] | undefined {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const walk = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of importsOf.get(path) ?? []) {
      const cycle = importsOf.has(next) ? walk(next, [...trail, path]) : undefined;
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const { path } of files) {
    const cycle = walk(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}
