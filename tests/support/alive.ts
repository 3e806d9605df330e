import { readFileSync } from 'node:fs';

/** Whether a process still runs. An orphan that died but was not reaped yet does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || stateOf(pid) !== 'Z';
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'ENOENT')) return false;
    throw error;
  }
}

/** The letter after the name, which is in parentheses and may itself hold spaces. */
function stateOf(pid: number): string | undefined {
  return /^.*\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}
