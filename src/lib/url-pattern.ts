import { compileGlob, isGlob } from './pattern.ts';

export interface UrlPattern {
  matches: (url: URL) => boolean;
  /** Whether it has no wildcard in the host. */
  namesHost: boolean;
}

/**
 * Compiles a pattern such as `https://*.example.com/hooks/*`; `undefined` if it is none. The origin and the rest are matched by
 * themselves, so that a wildcard for a host does not reach into the path of another one.
 */
export function compileUrlPattern(pattern: string): UrlPattern | undefined {
  const [, given, path] = /^(https?:\/\/[^/?#@\s]+)(\/[^#\s]*)$/i.exec(pattern) ?? [];
  if (given === undefined || path === undefined) return undefined;
  const namesHost = !isGlob(given);
  if (namesHost && !URL.canParse(given)) return undefined;
  // Without a port that is the usual one.
  const origin = namesHost ? new URL(given).origin : given;
  const [isOrigin, isPath] = [compileGlob(origin), compileGlob(path)];
  return { matches: (url) => isOrigin(url.origin) && isPath(url.pathname + url.search), namesHost };
}
