import { decoded } from './route.ts';

/** `#key=<key>`, and where to go then: `#key=<key>&to=/q/<id>`. */
export function launchLink(hash: string): { key: string; to: string } | undefined {
  const [, key, to = '/inbox'] = /^#key=([^&]+)(?:&to=(.*))?$/.exec(hash) ?? [];
  if (key === undefined) return undefined;
  return { key: decoded(key), to: `#/${to.replace(/^[#/]*/, '')}` };
}
