/** The log, one entry a line, on stderr: stdout belongs to the protocol. */

import { showsColour } from './colour.ts';
import { jsonLine, textLine, type LogEntry } from './log-line.ts';

export { messageOf } from './error-message.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
/** `auto` is text on a terminal and JSON everywhere else. */
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface Log {
  debug(event: string, data?: Record<string, unknown>): void;
  info(event: string, data?: Record<string, unknown>): void;
  warn(event: string, data?: Record<string, unknown>): void;
  error(event: string, data?: Record<string, unknown>): void;
}

export function createLog(
  minimum: LogLevel,
  write: (line: string) => void = (line) => void process.stderr.write(line),
  format: (entry: LogEntry) => string = jsonLine,
): Log {
  const at = (level: keyof Log) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(minimum)) return () => {};
    return (event: string, data?: Record<string, unknown>) =>
      write(`${format({ level, event, time: new Date(), data })}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Adds these fields to each entry. A class, because every session has some of these. */
class LogWithFields implements Log {
  readonly #log: Log;
  readonly #fields: Record<string, unknown>;

  constructor(log: Log, fields: Record<string, unknown>) {
    this.#log = log;
    this.#fields = fields;
  }

  debug(event: string, data?: Record<string, unknown>): void {
    this.#log.debug(event, { ...this.#fields, ...data });
  }

  info(event: string, data?: Record<string, unknown>): void {
    this.#log.info(event, { ...this.#fields, ...data });
  }

  warn(event: string, data?: Record<string, unknown>): void {
    this.#log.warn(event, { ...this.#fields, ...data });
  }

  error(event: string, data?: Record<string, unknown>): void {
    this.#log.error(event, { ...this.#fields, ...data });
  }
}

export function withFields(log: Log, fields: Record<string, unknown>): Log {
  return new LogWithFields(log, fields);
}

/** The log of a program, on its standard error. */
export function stderrLog({ logLevel, logFormat }: { logLevel: LogLevel; logFormat: LogFormat }): Log {
  const { stderr } = process;
  const asText = logFormat === 'text' || (logFormat === 'auto' && stderr.isTTY);
  if (!asText) return createLog(logLevel);
  const coloured = showsColour(stderr);
  return createLog(logLevel, undefined, (entry) => textLine(entry, coloured));
}

/** The code of an error, if it has one. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
