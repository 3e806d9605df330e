import { spawn } from 'node:child_process';
import { splitWords } from '../server/shell-words.ts';

/** How long to wait for the program to fail. */
const TROUBLE_MS = 1000;

/** Opens a web page in the browser, without a shell. Resolves with an error message if that fails at once. */
export async function openLink(url: string): Promise<string | undefined> {
  const [command = '', ...args] = openerFor(url);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
    const timer = setTimeout(() => resolve(undefined), TROUBLE_MS);
    const settle = (trouble: string | undefined): void => {
      clearTimeout(timer);
      resolve(trouble);
    };
    child.once('error', (error) => settle(error.message));
    child.once('exit', (code) =>
      settle(code === 0 || code === null ? undefined : `${command} exited with code ${code}`),
    );
    child.unref();
  });
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
