import { homedir, userInfo } from 'node:os';
import { posix, win32 } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the store is when nobody says otherwise: the place each system has for the data of programs. */
export function defaultStorePath(env: Environment, platform: NodeJS.Platform = process.platform): string {
  // An empty HOME would put it into whatever folder one is in.
  const home = env['HOME'] || homedir() || userInfo().homedir;
  if (platform === 'win32') {
    const base = env['LOCALAPPDATA'] || win32.join(env['USERPROFILE'] || home, 'AppData', 'Local');
    return win32.join(base, 'meanwhile', 'meanwhile.db');
  }
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'meanwhile', 'meanwhile.db');
  const xdg = env['XDG_DATA_HOME'];
  // The XDG specification: a relative path there is invalid and to be ignored.
  const base = xdg && posix.isAbsolute(xdg) ? xdg : posix.join(home, '.local', 'share');
  return posix.join(base, 'meanwhile', 'meanwhile.db');
}
