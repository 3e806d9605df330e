import type { Config } from '../../config/schema.ts';
import {
  exportStore,
  inspectStore,
  pruneStore,
  type KindSummary,
  type PruneReport,
  type StoreSummary,
} from '../../main.ts';
import { parseAge, showAge, showBytes, showDuration } from '../units.ts';
import { configFor } from '../config.ts';
import { EXIT_CODES, RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { cleanLine } from '../../lib/clean.ts';
import { printLines } from '../print-lines.ts';
import { Screen } from '../terminal/screen.ts';
import { table } from '../terminal/layout.ts';

type Action = (settings: Config['settings'], flags: Flags) => Promise<number>;

const ACTIONS = new Map<string, Action>([
  ['show', show],
  ['prune', prune],
  ['export', exportAll],
]);

/** Flags of a single action. */
const ONLY_OF = [
  ['older-than', prune],
  ['with-secrets', exportAll],
] as const;

export async function store(line: CommandLine): Promise<number> {
  const { operands, flags } = line;
  const [name = 'show', extra] = operands;
  const action = ACTIONS.get(name);
  if (action === undefined || extra !== undefined) throw new UsageError('expected meanwhile store [show|prune|export]');
  for (const [flag, only] of ONLY_OF) {
    if (flags[flag] !== undefined && action !== only) throw new UsageError(`--${flag} does not apply to store ${name}`);
  }
  if (flags.stdio && flags.store !== undefined) throw new UsageError('--stdio and --store exclude each other');
  const { settings } = await configFor(line, flags.stdio ? 'stdio' : 'http');
  return action(settings, flags);
}

// --- show ---

async function show({ store: path }: Config['settings'], flags: Flags): Promise<number> {
  const summary = await inspectStore(path);
  const screen = new Screen(flags);
  if (screen.json) screen.printJson(asJson(summary));
  else screen.printOwn(described(summary));
  return RESULT;
}

function asJson(summary: StoreSummary): Record<string, unknown> {
  const { bytes, schemaVersion, kinds, tasksByStatus } = summary;
  return {
    ...('file' in summary ? { file: summary.file } : { database: summary.database }),
    bytes,
    schemaVersion,
    ...('file' in summary
      ? { usedBy: summary.usedBy === undefined ? null : { pid: summary.usedBy.pid ?? null } }
      : { gateways: summary.gateways.map((each) => ({ ...each, address: each.address ?? null })) }),
    sessions: moments(kinds.session),
    tasks: { ...moments(kinds.task), byStatus: tasksByStatus },
    openQuestions: moments(kinds.question),
    undeliveredEvents: moments(kinds.event),
    addedServers: moments(kinds.server),
  };
}

function moments({ count, oldest, newest }: KindSummary): Record<string, unknown> {
  return { count, oldest: iso(oldest), newest: iso(newest) };
}

const iso = (moment: number | undefined): string | null =>
  moment === undefined ? null : new Date(moment).toISOString();

function described(summary: StoreSummary): string {
  const { bytes, schemaVersion, kinds, tasksByStatus } = summary;
  const row = (name: string, { count, oldest, newest }: KindSummary): string[] => [
    name,
    String(count),
    age(oldest),
    age(newest),
  ];
  const facts = table([
    'file' in summary ? ['file', cleanLine(summary.file)] : ['database', cleanLine(summary.database)],
    ['size', showBytes(bytes)],
    ['version', String(schemaVersion)],
    ...usersOf(summary).map((user, index) => [index === 0 ? 'used by' : '', user]),
  ]);
  const counts = table([
    ['', 'count', 'oldest', 'newest'],
    row('sessions', kinds.session),
    row('tasks', kinds.task),
    ...Object.entries(tasksByStatus).map(([status, count]) => [`  ${cleanLine(status)}`, String(count)]),
    row('open questions', kinds.question),
    row('undelivered events', kinds.event),
    row('added servers', kinds.server),
  ]);
  return `${facts}\n\n${counts}`;
}

function usersOf(summary: StoreSummary): string[] {
  if ('file' in summary) {
    if (summary.usedBy === undefined) return ['no gateway'];
    const { pid } = summary.usedBy;
    return [pid === undefined ? 'a running gateway' : `the gateway with process id ${pid}`];
  }
  if (summary.gateways.length === 0) return ['no gateway'];
  return summary.gateways.map(({ id, address, renewedMsAgo }) => {
    const where = address === undefined ? `gateway ${cleanLine(id)}, without an address` : cleanLine(address);
    return `${where} (lease renewed ${showDuration(renewedMsAgo)} ago)`;
  });
}

const age = (moment: number | undefined): string => (moment === undefined ? '' : showAge(moment));

// --- prune ---

async function prune({ store: path, sessions, cluster }: Config['settings'], flags: Flags): Promise<number> {
  const olderThan = flags['older-than'];
  const age = olderThan === undefined ? undefined : parseAge(olderThan, 'older-than');
  const now = Date.now();
  const report = await pruneStore(path, {
    now,
    // A gateway stores the last activity of a session only at intervals.
    idleBefore: now - sessions.idleMs - sessions.checkMs,
    ...(age !== undefined && { endedBefore: now - age }),
    leaseMs: cluster.leaseMs,
  });
  const screen = new Screen(flags);
  if (screen.json) screen.printJson(report);
  else screen.printOwn(pruned(report));
  if ('database' in report || report.notCompacted === undefined) return RESULT;
  screen.note(`meanwhile: the file could not be made smaller: ${report.notCompacted}`);
  return EXIT_CODES.unexpected;
}

function pruned(report: PruneReport): string {
  const { removed, bytesBefore, bytesAfter } = report;
  const counts = Object.entries(removed).map(([name, count]) => `${count} ${count === 1 ? name.slice(0, -1) : name}`);
  const size = `${showBytes(bytesBefore)} before, ${showBytes(bytesAfter)} now`;
  return `${cleanLine('file' in report ? report.file : report.database)}\nremoved ${counts.join(', ')}\n${size}`;
}

// --- export ---

async function exportAll({ store: path }: Config['settings'], flags: Flags): Promise<number> {
  await printLines(exportStore(path, { secrets: flags['with-secrets'] === true }));
  return RESULT;
}
