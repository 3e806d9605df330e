/** Before all tests, and once: the terminal that some of them need. */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export default async function haveTmux(): Promise<void> {
  if (await works('tmux', '-V')) return;
  const isDebian = await access('/etc/debian_version').then(
    () => true,
    () => false,
  );
  if (isDebian && process.getuid?.() === 0) {
    const install = async (): Promise<boolean> => works('apt-get', 'install', '-y', 'tmux');
    // A new machine has no list of packages yet.
    if ((await install()) || ((await works('apt-get', 'update')) && (await install()))) return;
  }
  process.stderr.write('the tests of the terminal need tmux: apt-get, dnf or brew install tmux\n');
}

async function works(command: string, ...args: string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}
