/** Settles what the rest of the program, and the libraries it uses, may take for granted about the terminal. */

interface TerminalStream {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** Terminals that do not know their size (a serial line, some containers) report 0, and text of that width is empty. */
export function assumeSize(...streams: TerminalStream[]): void {
  for (const stream of streams.filter(({ isTTY }) => isTTY)) {
    stream.columns ||= 80;
    stream.rows ||= 24;
  }
}

/** `--no-color`: the same as `NO_COLOR`, which libraries read too, and stronger than `FORCE_COLOR`. */
export function turnColoursOff(env: NodeJS.ProcessEnv = process.env): void {
  delete env['FORCE_COLOR'];
  env['NO_COLOR'] = '1';
}

/** A dumb terminal (an editor's shell window, a script) cannot move the cursor, so nothing can be drawn on it. */
export const canDraw = (env: NodeJS.ProcessEnv = process.env): boolean => env['TERM'] !== 'dumb';
