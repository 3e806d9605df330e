import type { Log } from '../lib/log.ts';

type Level = keyof Log;
type Line = [level: Level, event: string, data: Record<string, unknown> | undefined];

export interface HeldLog {
  log: Log;
  /** Writes the held lines of these levels, drops the others, and stops holding. */
  release: (levels: readonly Level[]) => void;
}

export const ALL_LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];
export const TROUBLE: readonly Level[] = ['warn', 'error'];

/** Holds log lines until it is known which are worth reading. */
export function holdLog(log: Log): HeldLog {
  let held: Line[] | undefined = [];
  const at =
    (level: Level): Log[Level] =>
    (event, data) => {
      if (held === undefined) log[level](event, data);
      else held.push([level, event, data]);
    };
  return {
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    release: (levels) => {
      const lines = held ?? [];
      held = undefined;
      for (const [level, event, data] of lines) if (levels.includes(level)) log[level](event, data);
    },
  };
}
