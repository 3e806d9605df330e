import type { Config } from '../../config/schema.ts';
import { cleanLine } from '../../lib/clean.ts';
import { notListed } from '../did-you-mean.ts';
import { testNotify, type TestOutcome } from '../../main.ts';
import { configFor } from '../config.ts';
import { EXIT_CODES, Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { openGateway } from '../gateway/open-gateway.ts';
import { table } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';
import { showAge } from '../units.ts';

/** A notification in the API. */
interface Notice {
  id: string;
  target: string;
  subject: string;
  state: 'waiting' | 'failed';
  createdAt: number;
  dueAt: number;
  attempts: number;
  error?: string;
}

export async function notify(line: CommandLine): Promise<number> {
  const [action, operand, extra] = line.operands;
  if (action === 'test' && extra === undefined) return test(line, operand);
  if (action === 'list' && extra === undefined) return list(line, operand);
  throw new UsageError('expected meanwhile notify test [target], or meanwhile notify list [url]');
}

/** Sends a test message to one target, or to all. */
async function test(line: CommandLine, target: string | undefined): Promise<number> {
  const { settings, file } = await configFor(line);
  const names = targetsIn(settings, target, file);
  const outcomes = await testNotify(settings, names);
  const screen = new Screen(line.flags);
  if (screen.json) screen.printJson({ targets: outcomes });
  else screen.printOwn(table(outcomes.map(described)));
  return outcomes.some(({ error }) => error !== undefined) ? EXIT_CODES.unexpected : RESULT;
}

function targetsIn(
  { notify: given }: Config['settings'],
  target: string | undefined,
  file = 'the configuration',
): string[] {
  const names = Object.keys(given?.targets ?? {});
  if (names.length === 0) {
    throw new Failure('config', `${file} has no targets; add them to meanwhile.notify.targets (docs/NOTIFY.md)`);
  }
  if (target === undefined) return names;
  if (names.includes(target)) return [target];
  throw new UsageError(
    notListed(
      file,
      'target',
      target,
      names.map((name) => ({ name })),
    ),
  );
}

function described({ target, type, error, tookMs }: TestOutcome): string[] {
  return [target, type, error === undefined ? `sent in ${tookMs} ms` : `failed: ${cleanLine(error)}`];
}

/** Shows the queued and failed notifications of a running gateway. */
async function list(line: CommandLine, address: string | undefined): Promise<number> {
  const { api } = await openGateway(line, address);
  const { items, dropped } = await api.get<{ items: Notice[]; dropped: number }>('notifications');
  const screen = new Screen(line.flags);
  if (screen.json) screen.printJson({ notifications: items, dropped });
  else if (items.length === 0) screen.printOwn('No notifications are queued, and none have failed.');
  else screen.printOwn(table([['target', 'about', 'state', 'attempts', 'queued', 'last error'], ...items.map(row)]));
  if (!screen.json && dropped > 0) {
    screen.printOwn(`${dropped} dropped since yesterday (UTC) because too many were queued.`);
  }
  return RESULT;
}

function row({ target, subject, state, attempts, createdAt, error = '' }: Notice): string[] {
  return [target, cleanLine(subject), state, String(attempts), showAge(createdAt), cleanLine(error)];
}
