import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';

/** Finds a program on the PATH or as a file in the current folder. */
export async function findProgram(
  name: string,
  path: string = process.env['PATH'] ?? '',
  cwd: string = process.cwd(),
): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((each) => each !== '')) {
    if (await isFile(join(folder, name), constants.X_OK)) return name;
  }
  // The operating system needs the `./` to look outside the PATH.
  return (await isFile(resolve(cwd, name), constants.F_OK)) ? `./${name}` : undefined;
}

async function isFile(file: string, mode: number): Promise<boolean> {
  const found = await stat(file).then(
    (status) => status.isFile(),
    () => false,
  );
  return (
    found &&
    access(file, mode).then(
      () => true,
      () => false,
    )
  );
}
