/** The program as a child process, in an environment of its own. The test owns it. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, vi } from 'vitest';
import { temporaryFolder, type LogLine } from './gateway.ts';
import { defer } from './owned.ts';
import { QUICK_PROGRAM } from './servers.ts';

export interface ProgramOptions {
  /** Its path, if it is to be the built one. */
  program?: string;
  env?: Record<string, string>;
  cwd?: string;
  /** A command that runs the program, with its first arguments. */
  through?: string[];
}

export interface Program {
  child: ChildProcessWithoutNullStreams;
  /** Lines so far. */
  stdout: string[];
  stderr: string[];
  /** The exit code, once both streams are at their end. */
  exited: Promise<number | null>;
  stop(): Promise<number | null>;
}

const PATIENCE_MS = 15_000;

export async function startProgram(
  args: string[],
  { program = QUICK_PROGRAM, env = {}, cwd, through = [] }: ProgramOptions = {},
): Promise<Program> {
  const home = await temporaryFolder();
  const [command = process.execPath, ...rest] = [...through, process.execPath, program, ...args];
  const child = spawn(command, rest, {
    cwd: cwd ?? home,
    // Nothing of the machine's own configuration and no store of its user.
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env },
  });
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line));
  child.stdin.on('error', () => {
    // The program may have ended without reading all it was given.
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    return exited.finally(() => clearTimeout(force));
  };
  defer(stop);
  return { child, stdout, stderr, exited, stop };
}

/** Runs it to its end. */
export async function runProgram(
  args: string[],
  options: ProgramOptions & { input?: string } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = await startProgram(args, options);
  program.child.stdin.end(options.input ?? '');
  const code = await program.exited;
  return { code, stdout: program.stdout.join('\n'), stderr: program.stderr.join('\n') };
}

export interface Serving extends Program {
  url: string;
}

/** `serve`, once it listens. */
export async function serveProgram(args: string[], options: ProgramOptions = {}): Promise<Serving> {
  const program = await startProgram(['serve', ...args], options);
  const { data } = await logged(program, 'listening');
  return { ...program, url: String(data?.['url']) };
}

/** The first log line with that event. */
export async function logged(program: Program, event: string): Promise<LogLine> {
  return vi.waitFor(
    () => {
      const found = logLines(program).find((line) => line.event === event);
      expect(found, `no '${event}' in:\n${program.stderr.join('\n')}`).toBeDefined();
      return found as LogLine;
    },
    { timeout: PATIENCE_MS },
  );
}

/** Every line of standard error as the JSON object that it must be. */
export function logLines({ stderr }: Program): LogLine[] {
  return stderr.map((line) => JSON.parse(line) as LogLine);
}
