/** How the figures look. */

import { REFERENCES, type Direct } from './direct.ts';
import type { Durability } from './durability.ts';
import type { CellFigures } from './lanes.ts';

export interface Row extends CellFigures {
  /** Calls per second, as a share of what the two others reach. */
  ofDirect: number;
  ofNaive: number;
}

export interface Idle {
  /** All runs, fastest first. */
  startUpMs: number[];
  idleRssBytes: number;
  sessionRssBytes: number;
}

export interface HubFigures extends Idle {
  rows: Row[];
  durability: Durability;
}

export interface Figures {
  hub?: HubFigures;
  direct?: Direct;
}

/** What we want to stay below. */
const AIMS = { cpuMsPerCall: 0.6, startUpMs: 400, idleRssMb: 90, fullStartUpMs: 500 };

const SPEED = ['calls/s', 'p50 ms', 'p99 ms'];

export function print(figures: Figures, asJson: boolean): void {
  const { hub, direct } = figures;
  const parts = [...(hub ? [hubText(hub)] : []), ...(direct ? [directText(direct)] : [])];
  console.log(asJson ? JSON.stringify(figures, undefined, 2) : parts.join('\n\n'));
}

function hubText({ rows, startUpMs, idleRssBytes, sessionRssBytes, durability }: HubFigures): string {
  const columns = ['path', 'era', 'parallel', ...SPEED, 'x direct', 'x naive', 'CPU ms/call'];
  const cells = rows.map((row) => [
    row.path,
    row.era,
    String(row.parallel),
    ...speedOf(row),
    row.ofDirect.toFixed(2),
    row.ofNaive.toFixed(2),
    row.cpuMsPerCall.toFixed(3),
  ]);
  const median = startUpMs[Math.floor(startUpMs.length / 2)] ?? Number.NaN;
  const cpu = rows
    .filter(({ path, parallel }) => path === 'gateway' && parallel === 16)
    .map(({ era, cpuMsPerCall }) => `${cpuMsPerCall.toFixed(3)} (${era})`);
  return [
    'Through the hub',
    ...table(columns, cells, 2),
    '',
    `CPU of the gateway, 16 in parallel  ${cpu.join(', ')} ms a call; aim: at most ${AIMS.cpuMsPerCall}`,
    `start-up to the first answer        median ${median.toFixed(0)} ms of ${startUpMs.length}; aim: under ${AIMS.startUpMs}`,
    `idle memory                         ${mb(idleRssBytes)}, with one session ${mb(sessionRssBytes)}; aim: under ${AIMS.idleRssMb} MB`,
    ...durabilityLines(durability),
  ].join('\n');
}

function directText({ rows, versions, silent }: Direct): string {
  const columns = [
    'server',
    'path',
    'era',
    'parallel',
    ...SPEED,
    ...REFERENCES.map((path) => `x ${path}`),
    'CPU ms/call',
  ];
  const cells = rows
    .toSorted((a, b) => b.server.localeCompare(a.server) || a.era.localeCompare(b.era) || a.parallel - b.parallel)
    .map((row) => [
      row.server,
      row.path,
      row.era,
      String(row.parallel),
      ...speedOf(row),
      ...REFERENCES.map((path) => (Number.isNaN(row.of[path]) ? '-' : row.of[path].toFixed(2))),
      row.cpuMsPerCall.toFixed(3),
    ]);
  return [
    `Through the direct endpoint, beside ${Object.entries(versions)
      .map((each) => each.join(' '))
      .join(' and ')}`,
    ...table(columns, cells, 3),
    '',
    ...silent.map(({ path, era, why }) => `${path} does not speak the ${era} era: ${why}`),
    'CPU is that of the process that is called: the server alone, or the proxy without the servers that it starts.',
    'Alone, the server that is a program is called over its pipes, the others over HTTP.',
    'supergateway starts the server anew for each modern request.',
  ].join('\n');
}

function speedOf({ callsPerSecond, p50Ms, p99Ms }: CellFigures): string[] {
  return [callsPerSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2)];
}

function durabilityLines({ promotions, commitMs, full, empty }: Durability): string[] {
  const share = promotions.file / promotions.memory;
  return [
    `calls that become tasks             ${promotions.file.toFixed(0)}/s with a file, ${promotions.memory.toFixed(0)}/s in memory: x ${share.toFixed(2)}`,
    `one commit                          p50 ${commitMs.p50.toFixed(3)} ms, p99 ${commitMs.p99.toFixed(3)} ms`,
    `start-up with ${full.tasks} stored tasks  ${full.startMs.toFixed(0)} ms, without any ${empty.startMs.toFixed(0)} ms: x ${(full.startMs / empty.startMs).toFixed(2)}; aim: under ${AIMS.fullStartUpMs}`,
    `their size on disk                  ${mb(full.bytes)}: ${(full.bytes / full.tasks).toFixed(0)} bytes a task`,
  ];
}

/** Names to the left, the `names` first columns; figures to the right. */
function table(columns: string[], cells: string[][], names: number): string[] {
  const lines = [columns, ...cells];
  const width = (column: number): number => Math.max(7, ...lines.map((line) => line[column]?.length ?? 0));
  const pad = (text: string, column: number): string =>
    column < names ? text.padEnd(width(column)) : text.padStart(width(column));
  return lines.map((line) => line.map(pad).join('  '));
}

export function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
