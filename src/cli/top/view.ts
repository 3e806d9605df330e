/** A summary as text. */

import { showBytes, showDuration } from '../units.ts';
import { cleanLine } from '../../lib/clean.ts';
import { fit, pad, table } from '../terminal/layout.ts';
import type { Style } from '../terminal/style.ts';
import type { ServerSummary, GatewaySummary } from './summary.ts';

/** The rates between two samples. */
export interface Rates {
  seconds: number;
  before: GatewaySummary;
}

export interface TopViewOptions {
  where: string;
  style: Style;
  columns: number;
  /** How many lines there may be. */
  rows?: number;
  rates?: Rates | undefined;
}

/** The lines of the screen. */
export function view(
  summary: GatewaySummary,
  { where, style, columns, rows = Infinity, rates }: TopViewOptions,
): string[] {
  const facts = table([
    ['sessions', counts(summary.sessions)],
    ['calls', `${summary.calls.open} open${perSecond(summary, rates)}; ended: ${counts(summary.calls.ended)}`],
    ['promoted', counts(summary.calls.promoted)],
    ['tasks', counts(summary.tasks)],
    ['questions', questions(summary)],
    ['store', store(summary)],
    ...(total(summary.forwarded) > 0 ? [['forwarded', counts(summary.forwarded)]] : []),
  ]).split('\n');
  const head = [
    style.strong(fit(title(summary, where, rates), columns)),
    '',
    ...facts.map((line) => fit(line, columns)),
  ];
  const room = rows - head.length - 3;
  return [...head, '', ...servers(summary.servers, style, columns, room)];
}

function title(
  { version, startedAt, memoryBytes, cpuSeconds }: GatewaySummary,
  where: string,
  rates: Rates | undefined,
): string {
  const up = showDuration(Math.max(0, Date.now() - Date.parse(startedAt)));
  const parts = [`meanwhile ${cleanLine(version)}`, cleanLine(where), `up ${up}`, showBytes(memoryBytes)];
  if (rates) {
    // Less than before after a restart of the gateway.
    const used = Math.max(0, cpuSeconds - rates.before.cpuSeconds);
    parts.push(`cpu ${Math.round((used / rates.seconds) * 100)} %`);
  }
  return parts.join('  ');
}

function perSecond({ calls }: GatewaySummary, rates: Rates | undefined): string {
  if (rates === undefined) return '';
  const ended = total(calls.ended) - total(rates.before.calls.ended);
  return `, ${(Math.max(0, ended) / rates.seconds).toFixed(1)}/s`;
}

function questions({ questions: { open, ended, medianWaitSeconds } }: GatewaySummary): string {
  const wait = medianWaitSeconds === null ? '' : `; median wait ${showSeconds(medianWaitSeconds)}`;
  return `open: ${counts(open)}; ended: ${counts(ended)}${wait}`;
}

function store({ store: { up, commits, failed, medianSeconds, slowestSeconds } }: GatewaySummary): string {
  const times =
    medianSeconds === null || slowestSeconds === null
      ? ''
      : `, median ${showSeconds(medianSeconds)}, 95 % within ${showSeconds(slowestSeconds)}`;
  const failures = failed === 0 ? '' : `, ${failed} failed`;
  return `${up ? 'ok' : 'NOT OK'}; commits: ${commits}${times}${failures}`;
}

const HEADINGS = ['server', 'up', 'connections', 'open', 'calls', 'failed', 'median', '95 %'];

function servers(list: readonly ServerSummary[], style: Style, columns: number, room: number): string[] {
  if (list.length === 0) return [style.faint('no server has been used yet')];
  const shown = list.slice(0, Math.max(1, room));
  const rows = shown.map((each) => [
    cleanLine(each.name),
    each.up === null ? '-' : each.up ? 'yes' : 'NO',
    ...[each.connections, each.openCalls, each.calls, each.failed].map(String),
    showSeconds(each.medianSeconds),
    showSeconds(each.slowestSeconds),
  ]);
  const widths = HEADINGS.map((heading, index) =>
    Math.max(heading.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  // Numbers are easier to compare when they end below each other.
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => (index < 2 ? pad(cell, widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  ');
  const lines = rows.map((row, index) => {
    const text = fit(line(row).trimEnd(), columns);
    return shown[index]?.up === false ? style.bad(text) : text;
  });
  const more = list.length - shown.length;
  return [
    style.accent(fit(line(HEADINGS), columns)),
    ...lines,
    ...(more > 0 ? [style.faint(`and ${more} more; a larger terminal or --json shows all`)] : []),
  ];
}

function counts(counted: Record<string, number>): string {
  const entries = Object.entries(counted).filter(([, count]) => count > 0);
  if (entries.length === 0) return 'none';
  return entries.map(([name, count]) => `${count} ${cleanLine(name).replaceAll('_', ' ')}`).join(', ');
}

const total = (counted: Record<string, number>): number =>
  Object.values(counted).reduce((sum, count) => sum + count, 0);

function showSeconds(seconds: number | null): string {
  if (seconds === null) return '-';
  if (seconds < 0.001) return `${(seconds * 1000).toFixed(2)} ms`;
  if (seconds < 0.1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : showDuration(seconds * 1000);
}
