import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/** Looks like the operating system: a name with a slash is a path, any other is searched on the PATH. */
export function isOnPath(name: string, path: string, cwd: string, mode = constants.F_OK): boolean {
  const folders = /[/\\]/.test(name) ? [''] : path.split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => isFile(resolve(cwd, join(folder, name)), mode));
}

/** Finds a program on the PATH, or as a file in the current folder. */
export function findProgram(
  name: string,
  path: string = process.env['PATH'] ?? '',
  cwd: string = process.cwd(),
): string | undefined {
  if (isOnPath(name, path, cwd, constants.X_OK)) return name;
  // The operating system needs the `./` to look outside the PATH.
  return isOnPath(`./${name}`, path, cwd) ? `./${name}` : undefined;
}

function isFile(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
