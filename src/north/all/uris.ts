/** Resource URIs that must name their server: two servers have the same one, or a tool refers to it. */

const UI = 'ui://';
const OWN = 'meanwhile://';

/**
 * Whether a URI always names its server: UI resources, because tools refer to them, and URIs that look as if
 * they already did.
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
