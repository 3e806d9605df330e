import { createHash } from 'node:crypto';
import { homedir, userInfo } from 'node:os';
import { join, posix, win32 } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The default store: one for the HTTP gateway, and one for each project with a stdio gateway. */
export function defaultStorePath(env: Environment, transport: 'http' | 'stdio', project: string): string {
  if (transport === 'http') return join(dataFolder(env), 'meanwhile.db');
  const name = createHash('sha256').update(project).digest('hex').slice(0, 16);
  return join(dataFolder(env), `stdio-${name}.db`);
}

/** The folder for application data on this operating system. */
export function dataFolder(env: Environment, platform: NodeJS.Platform = process.platform): string {
  // An empty HOME would mean the current folder.
  const home = env['HOME'] || homedir() || userInfo().homedir;
  if (platform === 'win32') {
    const base = env['LOCALAPPDATA'] || win32.join(env['USERPROFILE'] || home, 'AppData', 'Local');
    return win32.join(base, 'meanwhile');
  }
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'meanwhile');
  const xdg = env['XDG_DATA_HOME'];
  // The XDG specification says to ignore relative paths.
  const base = xdg && posix.isAbsolute(xdg) ? xdg : posix.join(home, '.local', 'share');
  return posix.join(base, 'meanwhile');
}
