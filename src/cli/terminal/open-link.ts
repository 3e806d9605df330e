import { spawn } from 'node:child_process';
import { within } from '../../lib/timers.ts';
import { splitWords } from '../server/shell-words.ts';

/** How long to wait for the program to fail. */
const TROUBLE_MS = 1000;

/** Opens a web page in the browser, without a shell. Resolves with an error message if that fails at once. */
export async function openLink(url: string): Promise<string | undefined> {
  const [command = '', ...args] = openerFor(url);
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  child.unref();
  const trouble = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code) => resolve(code ? `${command} exited with code ${code}` : undefined));
  });
  return within(TROUBLE_MS, trouble);
}

/** BROWSER has precedence, as in other programs: commands separated by colons, `%s` for the URL. */
export function openerFor(
  url: string,
  platform: NodeJS.Platform = process.platform,
  browser: string | undefined = process.env['BROWSER'],
): string[] {
  const [chosen = ''] = (browser ?? '').split(platform === 'win32' ? ';' : ':');
  const words = splitWords(chosen) ?? [];
  if (words.length > 0) {
    const filled = words.map((word) => word.replaceAll('%s', () => url));
    return filled.some((word, index) => word !== words[index]) ? filled : [...words, url];
  }
  if (platform === 'darwin') return ['open', url];
  // What the shell command `start` does with a URL.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
