/** Servers whose `command` is a whole command line: nothing of that name can be run, but its first word can. */

import { existsSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { asProgramAndArguments, programIn } from '../lib/command-line.ts';
import { isObject } from '../lib/values.ts';
import type { Mistake } from './expand.ts';
import type { Environment } from './paths.ts';
import { serverEntries } from './server-entries.ts';

export interface Here {
  env: Environment;
  /** Where a command runs that names no folder, and that of the file, from which a folder is named. */
  cwd: string;
  folder: string;
}

/** `written` is the file before its variables were filled in, so that no value of one is shown. */
export function wholeCommands(file: unknown, written: unknown, here: Here): Mistake[] {
  const shown = new Map(serverEntries(written));
  return serverEntries(file).flatMap(([name, { command, cwd, env: own, args }]) => {
    if (typeof command !== 'string') return [];
    const program = programIn(command);
    const ownPath = isObject(own) ? own['PATH'] : undefined;
    const path = typeof ownPath === 'string' ? ownPath : (here.env['PATH'] ?? '');
    const place = { path, cwd: typeof cwd === 'string' ? resolve(here.folder, cwd) : here.cwd };
    if (program === undefined || exists(command, place) || !exists(program, place)) return [];
    const text = String(shown.get(name)?.['command']);
    const more = Array.isArray(args) && args.length > 0;
    const split = programIn(text) === undefined ? '' : `: ${asProgramAndArguments(text, more)}`;
    const message = `only the program goes here, what follows it goes into "args"${split}`;
    return [{ path: ['mcpServers', name, 'command'], message }];
  });
}

/** As the system looks for it: with a folder in its name it is a file there, without one it is on the PATH. */
function exists(program: string, { path, cwd }: { path: string; cwd: string }): boolean {
  const folders = /[/\\]/.test(program) ? [''] : path.split(delimiter).filter((folder) => folder !== '');
  return folders
    .map((folder) => resolve(cwd, join(folder, program)))
    .some((file) => existsSync(file) && statSync(file).isFile());
}
