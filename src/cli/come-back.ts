import { basename } from 'node:path';
import { programPath } from './config.ts';
import type { Flags } from './flags.ts';
import { quoteWord } from './server/shell-words.ts';

/** The command that fetches the result of a task later, as it is to be typed. */
export function comeBack(
  server: string,
  taskId: string,
  { config, header = [], session }: Pick<Flags, 'config' | 'header'> & { session?: string | undefined },
  program: string = programPath(),
): string {
  return [
    ...(basename(program) === 'meanwhile' ? ['meanwhile'] : ['node', program]),
    'tasks',
    'result',
    server,
    taskId,
    ...(session === undefined ? [] : ['--session', session]),
    ...(config === undefined ? [] : ['--config', config]),
    // The values are often secrets, and a screen has many readers.
    ...header.flatMap((line) => ['--header', `${line.slice(0, line.indexOf(':'))}: …`]),
  ]
    .map(quoteWord)
    .join(' ');
}
