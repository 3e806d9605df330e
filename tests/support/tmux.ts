/** A real terminal for the program: a tmux server of its own for each. The test owns it. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';
import { PROGRAM, temporaryFolder } from './gateway.ts';
import { defer } from './owned.ts';

const run = promisify(execFile);
const PATIENCE_MS = 15_000;

export interface TerminalOptions {
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
  cwd?: string;
}

export interface Terminal {
  /** Keys by their tmux names (`Enter`, `Escape`, `C-c`, `Down`), one after the other. */
  press(...keys: string[]): Promise<void>;
  /** Text as it is. */
  type(text: string): Promise<void>;
  /** What is on the screen and what has scrolled off it. */
  screen(): Promise<string>;
  /** The same with the escape sequences of its colours. */
  colouredScreen(): Promise<string>;
  /** The screen, once it shows this. */
  shows(what: string | RegExp): Promise<string>;
  /** The screen, once the program has ended, and its exit code. */
  ended(): Promise<{ code: number; screen: string }>;
}

/** Runs the program in a terminal. The shell reads `prefix` before the command and `redirect` after it, such as `> file`. */
export async function programInTerminal(
  args: string[],
  options: TerminalOptions & { prefix?: string; redirect?: string } = {},
): Promise<Terminal> {
  const words = [process.execPath, PROGRAM, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  return shellInTerminal([options.prefix ?? '', ...words, options.redirect ?? ''].join(' '), options);
}

export async function shellInTerminal(
  script: string,
  { env = {}, columns = 100, rows = 40, cwd }: TerminalOptions = {},
): Promise<Terminal> {
  const home = await temporaryFolder();
  const socket = `meanwhile-${process.pid}-${randomUUID()}`;
  const clean = { PATH: process.env['PATH'] ?? '', HOME: home, TMUX_TMPDIR: home, LANG: 'C.UTF-8', ...env };
  const tmux = async (...words: string[]): Promise<string> => {
    const { stdout } = await run('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...words], { env: clean });
    return stdout;
  };
  defer(async () => {
    // Already gone when the last session ended; then there is nothing to end.
    await tmux('kill-server').catch(() => {});
  });
  // The shell stays, so that the last screen can be read; Ctrl-C is for the program alone.
  const kept = `trap : INT\n${script}\nprintf '\\n[exit %s]\\n' $?\nexec sleep 600`;
  const size = ['-x', String(columns), '-y', String(rows)];
  await tmux('new-session', '-d', ...size, '-c', cwd ?? home, 'sh', '-c', kept);

  const screen = async (): Promise<string> => tmux('capture-pane', '-p', '-S', '-1000');
  const shows = async (what: string | RegExp): Promise<string> =>
    vi.waitFor(
      async () => {
        const text = await screen();
        if (typeof what === 'string') expect(text).toContain(what);
        else expect(text).toMatch(what);
        return text;
      },
      { timeout: PATIENCE_MS, interval: 50 },
    );
  return {
    screen,
    colouredScreen: async () => tmux('capture-pane', '-p', '-e', '-S', '-1000'),
    shows,
    press: async (...keys) => {
      for (const key of keys) await tmux('send-keys', key);
    },
    type: async (text) => void (await tmux('send-keys', '-l', text)),
    ended: async () => {
      const text = await shows(/\[exit \d+\]/);
      return { code: Number(/\[exit (\d+)\]/.exec(text)?.[1]), screen: text };
    },
  };
}
