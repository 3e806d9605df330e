/** Finds servers whose `command` is a whole command line: no such program exists, but its first word is one. */

import { resolve } from 'node:path';
import { asProgramAndArguments, programIn } from '../lib/command-line.ts';
import { isOnPath } from '../lib/find-program.ts';
import { isObject } from '../lib/values.ts';
import type { Mistake } from './expand.ts';
import type { Environment } from './paths.ts';
import { serverEntries } from './server-entries.ts';

export interface Here {
  env: Environment;
  /** `cwd` is where a command without `cwd` runs; `folder` contains the file, and its paths are relative to it. */
  cwd: string;
  folder: string;
}

/** `written` is the file before variables are expanded, so that no value of a variable is shown. */
export function wholeCommands(file: unknown, written: unknown, here: Here): Mistake[] {
  const shown = new Map(serverEntries(written));
  return serverEntries(file).flatMap(([name, { command, cwd, env: own, args }]) => {
    if (typeof command !== 'string') return [];
    const program = programIn(command);
    const ownPath = isObject(own) ? own['PATH'] : undefined;
    const path = typeof ownPath === 'string' ? ownPath : (here.env['PATH'] ?? '');
    const folder = typeof cwd === 'string' ? resolve(here.folder, cwd) : here.cwd;
    if (program === undefined || isOnPath(command, path, folder) || !isOnPath(program, path, folder)) return [];
    const text = String(shown.get(name)?.['command']);
    const more = Array.isArray(args) && args.length > 0;
    const split = programIn(text) === undefined ? '' : `: ${asProgramAndArguments(text, more)}`;
    const message = `only the program belongs here; its arguments belong in "args"${split}`;
    return [{ path: ['mcpServers', name, 'command'], message }];
  });
}
