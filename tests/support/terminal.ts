/** A real terminal for the program: a pseudo-terminal, and an emulator that keeps its screen. The test owns both. */
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { expect, vi } from 'vitest';
import { temporaryFolder } from './gateway.ts';
import { defer } from './owned.ts';
import { QUICK_PROGRAM } from './servers.ts';

const PATIENCE_MS = 15_000;

/** The bytes that a terminal sends for a key. */
const KEYS = {
  Enter: '\r',
  Escape: '\u001B',
  Space: ' ',
  Up: '\u001B[A',
  Down: '\u001B[B',
  Right: '\u001B[C',
  Left: '\u001B[D',
  'C-c': '\u0003',
  'C-d': '\u0004',
  'C-u': '\u0015',
} as const;

export type Key = keyof typeof KEYS;

export function isKey(text: string): text is Key {
  return text in KEYS;
}

export interface TerminalOptions {
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
  cwd?: string;
}

export interface Terminal {
  press(...keys: Key[]): void;
  /** Sends text as it is. */
  type(text: string): void;
  /** The text on the screen and above it. */
  screen(): string;
  /** Everything that was written, with its escape sequences. */
  output(): string;
  /** Waits until the screen shows this, and returns it. */
  shows(text: string | RegExp): Promise<string>;
  /** Waits for the program to end. */
  ended(): Promise<{ code: number; screen: string }>;
}

/** Runs the program in a terminal. The shell reads `prefix` before the command and `redirect` after it, such as `> file`. */
export async function programInTerminal(
  args: string[],
  options: TerminalOptions & { prefix?: string; redirect?: string } = {},
): Promise<Terminal> {
  const words = [process.execPath, QUICK_PROGRAM, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  return shellInTerminal([options.prefix ?? '', ...words, options.redirect ?? ''].join(' '), options);
}

export async function shellInTerminal(
  script: string,
  { env = {}, columns = 100, rows = 40, cwd }: TerminalOptions = {},
): Promise<Terminal> {
  const home = await temporaryFolder();
  // The shell outlives the program and prints its exit code; Ctrl-C is for the program alone. It stays until the test ends: the
  // last output of a terminal is lost if it is not read within a fifth of a second after that.
  const shell = spawn('sh', ['-c', `trap : INT\n${script}\nprintf '\\n[exit %s]\\n' $?\nexec sleep 600`], {
    name: 'xterm-256color',
    cols: columns,
    rows,
    cwd: cwd ?? home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C.UTF-8', ...env },
  });
  const emulator = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true });
  let output = '';
  shell.onData((data) => {
    output += data;
    emulator.write(data);
  });
  const exited = new Promise<void>((resolve) => {
    shell.onExit(() => resolve());
  });
  defer(async () => {
    killGroup(shell.pid);
    await exited;
    emulator.dispose();
  });

  const screen = (): string => {
    const { active } = emulator.buffer;
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true)).join('\n');
  };
  const shows = async (text: string | RegExp): Promise<string> =>
    vi.waitFor(
      () => {
        const shown = screen();
        if (typeof text === 'string') expect(shown).toContain(text);
        else expect(shown).toMatch(text);
        return shown;
      },
      { timeout: PATIENCE_MS, interval: 20 },
    );
  return {
    screen,
    output: () => output,
    shows,
    press: (...keys) => {
      for (const key of keys) shell.write(KEYS[key]);
    },
    type: (text) => shell.write(text),
    ended: async () => {
      const shown = await shows(/\[exit \d+\]/);
      return { code: Number(/\[exit (\d+)\]/.exec(shown)?.[1]), screen: shown };
    },
  };
}

/** Ends the shell and the programs it started, which share its process group. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
