import { basename } from 'node:path';
import { redactUrl } from '../lib/redact.ts';
import { programPath } from './config.ts';
import type { Flags } from './flags.ts';
import { quoteWord } from './server/shell-words.ts';

type Target = Pick<Flags, 'config' | 'header'> & { session?: string | undefined };

/** The command that gets the result of a task later. */
export function taskResultCommand(
  server: string,
  taskId: string,
  target: Target,
  program: string = programPath(),
): string {
  return suggestedCommand('tasks result', server, [taskId], target, program);
}

/** A command for the same server, quoted for a shell. */
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
    // Header values are often secrets.
    ...header.flatMap((line) => ['--header', `${line.slice(0, line.indexOf(':'))}: …`]),
  ];
  return [
    ...(basename(program) === 'meanwhile' ? ['meanwhile'] : ['node', program]),
    ...command.split(' '),
    // A task id may look like a flag.
    ...(more.some((word) => word.startsWith('-')) ? [...flags, '--', ...operands] : [...operands, ...flags]),
  ]
    .map(quoteWord)
    .join(' ');
}

/** As typed, but without credentials and query, which may be secret. */
function withoutSecrets(url: string): string {
  const { username, password, search } = new URL(url);
  return username === '' && password === '' && search === '' ? url : redactUrl(url);
}
