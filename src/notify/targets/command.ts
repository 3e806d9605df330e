/** A local program, without a shell. It gets the message as JSON on its standard input; none of it becomes an argument. */

import { spawn } from 'node:child_process';
import { cleanLine } from '../../lib/clean.ts';
import { isoTime } from '../../lib/clock.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { codeOf, messageOf } from '../../lib/log.ts';
import type { NotifyMessage } from '../message.ts';
import type { TargetSettings } from '../settings.ts';
import { SendFailure, type Target } from '../target.ts';

/** How much is kept of what it writes to standard error. */
const MOST_STDERR = 2000;
const SHOWN_CHARS = 200;

export function command({ command: program = '', args = [] }: TargetSettings): Target {
  return {
    send: async (message, signal) => {
      const { id, type, at, title, lines, data } = message;
      const input = stringifyExact({ id, type, timestamp: isoTime(at), title, text: lines.join('\n'), data });
      await run(program, args, `${input}\n`, environmentOf(message), signal);
    },
  };
}

function environmentOf({ id, event, title, link = '' }: NotifyMessage): Record<string, string> {
  return { MEANWHILE_ID: id, MEANWHILE_EVENT: event, MEANWHILE_TITLE: title, MEANWHILE_LINK: link };
}

async function run(
  program: string,
  args: readonly string[],
  input: string,
  variables: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, ...variables },
      // A group of its own, so that what it starts ends with it.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-MOST_STDERR);
    });
    const stop = (): void => {
      reject(signal.reason as Error);
      kill(child.pid);
    };
    signal.addEventListener('abort', stop, { once: true });
    child.on('error', (error) => {
      signal.removeEventListener('abort', stop);
      reject(new SendFailure(codeOf(error) === 'ENOENT' ? `there is no program '${program}'` : messageOf(error)));
    });
    child.on('exit', (code, by) => {
      signal.removeEventListener('abort', stop);
      if (code === 0) resolve();
      else reject(new SendFailure(`the program ended with ${by ?? `exit code ${code}`}${lastOf(said)}`));
    });
    // A program that does not want to know more does not read on.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has just ended by itself, or runs as another user. Nothing more can be done, and nobody could catch an error here.
  }
}

function lastOf(said: string): string {
  const line = cleanLine(said).slice(-SHOWN_CHARS);
  return line === '' ? '' : `: ${line}`;
}
