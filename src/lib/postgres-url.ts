/** The address of a store on PostgreSQL. */

export function isPostgresUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

/** A URL may list several hosts with ports, which `URL` does not support. `first`: the URL with only the first host. */
export function splitHosts(url: string): { first: string; hosts: string[] } {
  const [, before = '', list = '', behind = ''] = /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const hosts = list.split(',');
  return { first: `${before}${hosts[0]}${behind}`, hosts };
}

const HIDDEN = 'postgres://…';

/**
 * For messages: without user, password and parameters, of which some are secrets. Nothing is shown of what is not certain:
 * an `@` behind the host may belong to a password that is not percent-encoded.
 */
export function withoutSecrets(url: string): string {
  const { first, hosts } = splitHosts(url);
  if (!isPostgresUrl(url) || !hosts.every((host) => URL.canParse(`postgres://${host}`)) || !URL.canParse(first))
    return HIDDEN;
  const { protocol, pathname, search, hash } = new URL(first);
  return `${pathname}${search}${hash}`.includes('@') ? HIDDEN : `${protocol}//${hosts.join(',')}${pathname}`;
}
