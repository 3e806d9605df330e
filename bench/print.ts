/** How the figures look. */
import { REFERENCES, type Direct } from './direct.ts';
import type { Durability } from './durability.ts';
import type { CellFigures } from './lanes.ts';
import { mb, table } from './table.ts';
import { targetsText, type Targets } from './targets.ts';

export interface Row extends CellFigures {
  /** Calls per second, as a share of what the two others reach. */
  ofDirect: number;
  ofNaive: number;
}

export interface HubFigures {
  rows: Row[];
  durability: Durability;
}

export interface Figures {
  targets?: Targets;
  hub?: HubFigures;
  direct?: Direct;
}

/** What a start with many stored tasks should stay below. */
const FULL_START_UP_MS = 500;

const SPEED = ['calls/s', 'p50 ms', 'p99 ms'];

export function print(figures: Figures, asJson: boolean): void {
  const { targets, hub, direct } = figures;
  const parts = [
    ...(targets ? [targetsText(targets)] : []),
    ...(hub ? [hubText(hub)] : []),
    ...(direct ? [directText(direct)] : []),
  ];
  console.log(asJson ? JSON.stringify(figures, undefined, 2) : parts.join('\n\n'));
}

function hubText({ rows, durability }: HubFigures): string {
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
  return ['Through the hub', ...table(columns, cells, ['left', 'left']), '', ...durabilityLines(durability)].join('\n');
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
    ...table(columns, cells, ['left', 'left', 'left']),
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
    `start-up with ${full.tasks} stored tasks  ${full.startMs.toFixed(0)} ms, without any ${empty.startMs.toFixed(0)} ms: x ${(full.startMs / empty.startMs).toFixed(2)}; aim: under ${FULL_START_UP_MS}`,
    `their size on disk                  ${mb(full.bytes)}: ${(full.bytes / full.tasks).toFixed(0)} bytes a task`,
  ];
}
