/** Makes sure of what the program and its libraries assume about the terminal. */

interface TerminalStream {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** Terminals without a known size (a serial line, some containers) report 0 columns. */
export function assumeSize(...streams: TerminalStream[]): void {
  for (const stream of streams.filter(({ isTTY }) => isTTY)) {
    stream.columns ||= 80;
    stream.rows ||= 24;
  }
}

/** `--no-color`: sets `NO_COLOR`, which libraries read too, and overrides `FORCE_COLOR`. */
export function turnColoursOff(env: NodeJS.ProcessEnv = process.env): void {
  delete env['FORCE_COLOR'];
  env['NO_COLOR'] = '1';
}

/** A dumb terminal (a shell window of an editor, a script) cannot move the cursor. */
export const canDraw = (env: NodeJS.ProcessEnv = process.env): boolean => env['TERM'] !== 'dumb';
