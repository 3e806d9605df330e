/** The address of a store on PostgreSQL. */

export function isPostgresUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

const HIDDEN = 'postgres://…';

/**
 * For messages: without user, password and parameters, of which some are secrets. Nothing is shown of what is not certain:
 * an `@` behind the host may belong to a password that is not percent-encoded.
 */
export function withoutSecrets(url: string): string {
  if (!isPostgresUrl(url) || !URL.canParse(url)) return HIDDEN;
  const { protocol, host, pathname, search, hash } = new URL(url);
  return `${pathname}${search}${hash}`.includes('@') ? HIDDEN : `${protocol}//${host}${pathname}`;
}
