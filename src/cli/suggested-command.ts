import { basename } from 'node:path';
import { redactUrl } from '../lib/redact.ts';
import { programPath } from './config.ts';
import type { Flags } from './flags.ts';
import { quoteWord } from './server/shell-words.ts';

type Target = Pick<Flags, 'config' | 'header'> & { session?: string | undefined };

/** The command that fetches the result of a task later, as it is to be typed. */
export function taskResultCommand(
  server: string,
  taskId: string,
  target: Target,
  program: string = programPath(),
): string {
  return suggestedCommand('tasks result', server, [taskId], target, program);
}

/** A command for the same server, as it is to be typed. */
export function suggestedCommand(
  command: string,
  server: string,
  more: readonly string[],
  { config, header = [], session }: Target,
  program: string = programPath(),
): string {
  const operands = [/^https?:/i.test(server) ? withoutSecrets(server) : server, ...more];
  const flags = [
    ...(session === undefined ? [] : ['--session', session]),
    ...(config === undefined ? [] : ['--config', config]),
    // The values are often secrets, and a screen has many readers.
    ...header.flatMap((line) => ['--header', `${line.slice(0, line.indexOf(':'))}: …`]),
  ];
  return [
    ...(basename(program) === 'meanwhile' ? ['meanwhile'] : ['node', program]),
    ...command.split(' '),
    // Servers choose the ids of their tasks, and one may look like a flag.
    ...(more.some((word) => word.startsWith('-')) ? [...flags, '--', ...operands] : [...operands, ...flags]),
  ]
    .map(quoteWord)
    .join(' ');
}

/** As it was typed, unless it holds what others should not read; then those parts have to be typed again. */
function withoutSecrets(url: string): string {
  const { username, password, search } = new URL(url);
  return username === '' && password === '' && search === '' ? url : redactUrl(url);
}
