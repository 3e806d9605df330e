import { setTimeout as delay } from 'node:timers/promises';
import type { AuditLine } from '../../lib/api-items.ts';
import { wordsOf } from '../../lib/audit-words.ts';
import { escapeControls } from '../../lib/escape-controls.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { messageOf } from '../../lib/log.ts';
import { openSource, type AuditFilters, type AuditSource } from '../audit/source.ts';
import { AUDIT_KIND_NAMES } from '../audit/kinds.ts';
import { didYouMean } from '../did-you-mean.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { printLines } from '../print-lines.ts';
import { Stop } from '../stop.ts';
import { fit, pad } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';
import { parseMoment } from '../units.ts';

/** The default number of listed lines. */
const LISTED = 50;
const MOST_LISTED = 10_000;
/** How often new lines are looked for. */
const FOLLOW_MS = 1000;

/** Lists, follows or exports the audit record. */
export async function audit(line: CommandLine): Promise<number> {
  const { operands, flags } = line;
  const [address, extra] = operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  if (flags.stdio && (address !== undefined || flags.url !== undefined || flags.store !== undefined)) {
    throw new UsageError('--stdio selects the store; omit --url and --store');
  }
  const filters = filtersOf(flags);
  const limit = limitOf(flags);
  const source = await openSource(line, filters, address);
  const screen = new Screen(flags);
  try {
    if (flags.follow) await follow(source, screen, limit ?? LISTED);
    else if (screen.json && limit === undefined) await printLines(allLines(source));
    else await list(source, screen, limit ?? LISTED);
  } finally {
    await source.close();
  }
  return RESULT;
}

function filtersOf(flags: Flags): AuditFilters {
  const { kind, principal, server, tool, text, since, until } = flags;
  return {
    ...(kind !== undefined && { kind: kindOf(kind) }),
    ...(principal !== undefined && { principal }),
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(text !== undefined && { text }),
    ...(since !== undefined && { from: parseMoment(since, 'since') }),
    ...(until !== undefined && { to: parseMoment(until, 'until') }),
  };
}

function kindOf(given: string): AuditLine['kind'] {
  const found = AUDIT_KIND_NAMES.find((name) => name === given.replace('_', '-'));
  if (found !== undefined) return found.replace('-', '_') as AuditLine['kind'];
  throw new UsageError(
    `--kind: there is no kind '${given}'${didYouMean(given, AUDIT_KIND_NAMES) || `; the kinds are ${AUDIT_KIND_NAMES.join(', ')}`}`,
  );
}

function limitOf({ limit }: Flags): number | undefined {
  if (limit === undefined) return undefined;
  const count = /^\d+$/.test(limit) ? Number(limit) : NaN;
  if (count <= MOST_LISTED) return count;
  throw new UsageError(
    `--limit: expected a whole number up to ${MOST_LISTED}, got '${limit}'; --json without --limit prints all lines`,
  );
}

async function* allLines(source: AuditSource): AsyncGenerator<string> {
  for (let seq = 0; ;) {
    const page = await source.after(seq);
    for (const line of page.items) yield `${jsonOf(line)}\n`;
    if (page.items.length === 0 && page.next === undefined) return;
    seq = page.seq;
  }
}

async function list(source: AuditSource, screen: Screen, limit: number): Promise<void> {
  const lines = limit === 0 ? [] : await source.last(limit);
  print(lines, screen);
  if (lines.length === 0) screen.note(`no matching lines in ${source.where}`);
}

/** Follows until stopped, even through restarts of the gateway. */
async function follow(source: AuditSource, screen: Screen, limit: number): Promise<void> {
  const { lookAgain } = source;
  if (lookAgain === undefined) {
    throw new Failure(
      'unreachable',
      `--follow requires a running gateway, and there is none; omit it to list the lines in ${source.where}`,
    );
  }
  const stop = new Stop(undefined);
  const ending = new AbortController();
  stop.onInterrupt(() => ending.abort());
  stop.signal.addEventListener('abort', () => ending.abort(), { once: true });
  try {
    const shown = await source.last(Math.max(1, limit));
    if (limit > 0) print(shown, screen);
    let seq = shown.at(-1)?.seq ?? 0;
    let away = false;
    while (!ending.signal.aborted) {
      try {
        if (away) await lookAgain();
        const page = await source.after(seq);
        if (away) screen.note(`${source.where} is back`);
        away = false;
        print(page.items, screen);
        seq = page.seq;
        if (page.items.length > 0 || page.next !== undefined) continue;
      } catch (error) {
        if (!away) screen.note(messageOf(error));
        away = true;
      }
      await delay(FOLLOW_MS, undefined, { signal: ending.signal }).catch(() => {});
    }
  } finally {
    stop.close();
  }
}

function print(lines: readonly AuditLine[], screen: Screen): void {
  if (lines.length === 0) return;
  screen.printOwn(lines.map((line) => (screen.json ? jsonOf(line) : textOf(line, screen))).join('\n'));
}

const jsonOf = (line: AuditLine): string => {
  const text = stringifyExact(line);
  return process.stdout.isTTY ? escapeControls(text) : text;
};

/** Columns of fixed width: the next lines are not known yet. */
function textOf(line: AuditLine, { style }: Screen): string {
  const { event, who, what, how } = wordsOf(line);
  const { isTTY, columns } = process.stdout;
  const cells = [timeOf(line.at), pad(event, 15), pad(who, 20), pad(what, 24), how];
  const text = cells.join('  ').trimEnd();
  const shown = isTTY ? fit(text, columns) : text;
  return isBad(line) ? style.bad(shown) : shown;
}

const isBad = ({ kind, event, outcome, isError }: AuditLine): boolean =>
  kind === 'gap' || event === 'refused' || outcome === 'failed' || outcome === 'lost' || isError === true;

/** `2026-11-17 23:35:01` in the time zone of the person. */
function timeOf(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19).replace('T', ' ');
}
