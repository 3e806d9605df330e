/** One log entry as one line. */

import { styleText } from 'node:util';
import { escapeControls } from './escape-controls.ts';
import { stringifyExact } from './exact-json.ts';

export interface LogEntry {
  level: 'debug' | 'info' | 'warn' | 'error';
  event: string;
  time: Date;
  data?: Record<string, unknown> | undefined;
}

/** For programs. */
export function jsonLine({ level, event, time, data }: LogEntry): string {
  return escapeControls(stringifyExact({ level, event, timestamp: time.toISOString(), ...(data && { data }) }));
}

const COLOURS = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' } as const;

/** For people: `14:03:22 warn  server disconnected  server=files reason="process exited with code 1"`. */
export function textLine({ level, event, time, data = {} }: LogEntry, coloured: boolean): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    coloured ? styleText(format, text, { validateStream: false }) : text;
  const facts = Object.entries(data).flatMap(([key, value]) =>
    value === undefined ? [] : [`${paint('dim', `${key}=`)}${shown(value)}`],
  );
  const clock = time.toTimeString().slice(0, 8);
  const words = event.replaceAll('_', ' ');
  return [`${paint('dim', clock)} ${paint(COLOURS[level], level.padEnd(5))} ${words}`, facts.join(' ')]
    .filter(Boolean)
    .join('  ');
}

/** A single word unchanged, everything else as JSON, which keeps it on one line. */
function shown(value: unknown): string {
  const isWord = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return escapeControls(isWord ? value : (stringifyExact(value) ?? String(value)));
}
