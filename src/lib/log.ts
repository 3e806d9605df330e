/** One JSON object a line on stderr; stdout belongs to the protocol. */

import { shortenText } from './shorten.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Log {
  debug(event: string, data?: Record<string, unknown>): void;
  info(event: string, data?: Record<string, unknown>): void;
  warn(event: string, data?: Record<string, unknown>): void;
  error(event: string, data?: Record<string, unknown>): void;
}

export function createLog(
  minimum: LogLevel,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Log {
  const at = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(minimum)) return () => {};
    return (event: string, data?: Record<string, unknown>) =>
      write(
        `${JSON.stringify({ level, event, timestamp: new Date().toISOString(), ...(data && { data }) }, shorten)}\n`,
      );
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Servers and clients choose the length of many texts that are logged. */
function shorten(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? shortenText(value) : value;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
