/** How the figures look. */

import type { Durability } from './durability.ts';

export interface Row {
  path: string;
  era: string;
  parallel: number;
  callsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Calls per second, as a share of what the two others reach. */
  ofDirect: number;
  ofNaive: number;
  /** CPU time of the process that is called, in the round that was disturbed least. */
  cpuMsPerCall: number;
}

export interface Figures {
  rows: Row[];
  /** All runs, fastest first. */
  startUpMs: number[];
  idleRssBytes: number;
  sessionRssBytes: number;
  durability: Durability;
}

/** What we want to stay below. */
const AIMS = { cpuMsPerCall: 0.6, startUpMs: 400, idleRssMb: 90, fullStartUpMs: 500 };

const COLUMNS = ['path', 'era', 'parallel', 'calls/s', 'p50 ms', 'p99 ms', 'x direct', 'x naive', 'CPU ms/call'];

export function print(figures: Figures, asJson: boolean): void {
  console.log(asJson ? JSON.stringify(figures, undefined, 2) : asText(figures));
}

function asText({ rows, startUpMs, idleRssBytes, sessionRssBytes, durability }: Figures): string {
  const cells = rows.map((row) => [
    row.path,
    row.era,
    String(row.parallel),
    row.callsPerSecond.toFixed(0),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.ofDirect.toFixed(2),
    row.ofNaive.toFixed(2),
    row.cpuMsPerCall.toFixed(3),
  ]);
  const table = [COLUMNS, ...cells].map((line) => line.map((text, column) => pad(text, column)).join('  '));
  const median = startUpMs[Math.floor(startUpMs.length / 2)] ?? Number.NaN;
  const cpu = rows
    .filter(({ path, parallel }) => path === 'gateway' && parallel === 16)
    .map(({ era, cpuMsPerCall }) => `${cpuMsPerCall.toFixed(3)} (${era})`);
  return [
    ...table,
    '',
    `CPU of the gateway, 16 in parallel  ${cpu.join(', ')} ms a call; aim: at most ${AIMS.cpuMsPerCall}`,
    `start-up to the first answer        median ${median.toFixed(0)} ms of ${startUpMs.length}; aim: under ${AIMS.startUpMs}`,
    `idle memory                         ${mb(idleRssBytes)}, with one session ${mb(sessionRssBytes)}; aim: under ${AIMS.idleRssMb} MB`,
    ...durabilityLines(durability),
  ].join('\n');
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

function pad(text: string, column: number): string {
  const width = Math.max(COLUMNS[column]?.length ?? 0, 7);
  return column < 2 ? text.padEnd(width) : text.padStart(width);
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
