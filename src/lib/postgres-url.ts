/** The address of a store on PostgreSQL. */

export function isPostgresUrl(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

/** For messages: without user, password and parameters, of which some are secrets. */
export function withoutSecrets(url: string): string {
  return url.replace(/^(\w+:\/\/)(?:.*@)?/s, '$1').replace(/[?#].*$/s, '');
}
