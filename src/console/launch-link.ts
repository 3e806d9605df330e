import { isBesideConsole } from '../lib/return-path.ts';
import { decoded } from './route.ts';

/** `#key=<key>`, and where to go then: `#key=<key>&to=/q/<id>`, or to a page beside the console. */
export function launchLink(hash: string): { key: string; to: string } | undefined {
  const [, key, to = '/inbox'] = /^#key=([^&]+)(?:&to=(.*))?$/.exec(hash) ?? [];
  if (key === undefined) return undefined;
  return { key: decoded(key), to: isBesideConsole(to) ? `#to=${to}` : `#/${to.replace(/^[#/]*/, '')}` };
}

/** `#to=<path>`: the page beside the console that a person has opened who has to sign in first. */
export function pageToReturnTo(hash: string): string | undefined {
  const [, path] = /^#to=(.*)$/.exec(hash) ?? [];
  return path !== undefined && isBesideConsole(path) ? path : undefined;
}
