/** Where a browser may be sent after a person has signed in: pages of this gateway, never another site. */

/** Longer ones would not fit into a cookie. */
const MOST_CHARS = 1000;

const CONSOLE = /^\/console(?:#\/[!-[\]-~]*)?$/;

/** Gateway pages beside the console. Each has a fixed path prefix, and the rest cannot lead elsewhere. */
const BESIDE_CONSOLE = /^\/(?:oauth\/start|answer)\/[\w-][\w.~-]*$/;

export function isBesideConsole(path: string): boolean {
  return path.length <= MOST_CHARS && BESIDE_CONSOLE.test(path);
}

export function isReturnPath(path: string): boolean {
  return isBesideConsole(path) || (path.length <= MOST_CHARS && CONSOLE.test(path));
}
