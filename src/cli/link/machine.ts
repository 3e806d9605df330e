import { readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { posix, win32, type PlatformPath } from 'node:path';
import type { Environment } from '../../config/paths.ts';

/** The parts of the machine that determine where clients keep their files. */
export interface Machine {
  platform: NodeJS.Platform;
  env: Environment;
  home: string;
  /** The size of a file or folder; `undefined` if it does not exist. */
  sizeOf: (path: string) => number | undefined;
  /** The names in a folder; none if it does not exist. */
  list: (folder: string) => string[];
}

export function thisMachine(): Machine {
  const { env, platform } = process;
  const home = (platform === 'win32' ? env['USERPROFILE'] : env['HOME']) || homedir();
  return { platform, env, home, sizeOf, list };
}

function sizeOf(path: string): number | undefined {
  // `throwIfNoEntry` does not cover a path below a file.
  try {
    return statSync(path, { throwIfNoEntry: false })?.size;
  } catch {
    return undefined;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const pathOf = ({ platform }: Machine): PlatformPath => (platform === 'win32' ? win32 : posix);

/** A path as this machine writes it. */
export const join = (machine: Machine, ...parts: string[]): string => pathOf(machine).join(...parts);

/** The folder in a variable; relative paths are ignored, as the XDG specification requires. */
export function folderIn(machine: Machine, variable: string): string | undefined {
  const value = machine.env[variable];
  return value && pathOf(machine).isAbsolute(value) ? value : undefined;
}

/** `~/.config`, also on macOS and Windows for the programs that use it there. */
export function xdgConfig(machine: Machine): string {
  return folderIn(machine, 'XDG_CONFIG_HOME') ?? join(machine, machine.home, '.config');
}

/** Where programs with a window keep their settings. */
export function appData(machine: Machine): string {
  if (machine.platform === 'win32')
    return folderIn(machine, 'APPDATA') ?? join(machine, machine.home, 'AppData', 'Roaming');
  if (machine.platform === 'darwin') return join(machine, machine.home, 'Library', 'Application Support');
  return xdgConfig(machine);
}

export function hasProgram(machine: Machine, program: string): boolean {
  const { delimiter } = pathOf(machine);
  const folders = (machine.env['PATH'] ?? machine.env['Path'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const names = machine.platform === 'win32' ? ['.exe', '.cmd'].map((end) => program + end) : [program];
  return folders.some((folder) => names.some((name) => machine.sizeOf(join(machine, folder, name)) !== undefined));
}
