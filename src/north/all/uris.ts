/** Addresses of resources that have to name their server: two servers have the same one, or it belongs to a tool. */

const UI = 'ui://';
const OWN = 'meanwhile://';

/**
 * Whether an address always names its server: those of user interfaces, because tools refer to them, and those that look as if
 * they did already.
 */
export function alwaysNamesServer(uri: string): boolean {
  return uri.startsWith(UI) || uri.startsWith(OWN);
}

/** The address with the name of the server. Templates of addresses stay templates. */
export function namingServer(server: string, uri: string): string {
  const name = encodeURIComponent(server);
  return uri.startsWith(UI) ? `${UI}${name}/${uri.slice(UI.length)}` : `${OWN}${name}/${uri}`;
}

/** The server and its own address; `undefined` if the address names no server. */
export function splitUri(shown: string): { server: string; uri: string } | undefined {
  const scheme = [UI, OWN].find((each) => shown.startsWith(each));
  const end = scheme === undefined ? -1 : shown.indexOf('/', scheme.length);
  if (scheme === undefined || end < 0) return undefined;
  const rest = shown.slice(end + 1);
  try {
    const server = decodeURIComponent(shown.slice(scheme.length, end));
    return { server, uri: scheme === UI ? `${UI}${rest}` : rest };
  } catch {
    return undefined;
  }
}
