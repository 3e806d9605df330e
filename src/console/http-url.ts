/** The address, if it is one that may become a link: http or https. */
export function httpUrl(text: unknown): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}

/** What a person should know about an address before opening it. */
export function addressWarnings(url: URL): string[] {
  const warnings: string[] = [];
  if (url.protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(url.hostname)) {
    warnings.push('The connection is not encrypted (http).');
  }
  if (url.username !== '' || url.password !== '') {
    warnings.push('The address has a user name before the host, which can make it look like another site.');
  }
  if (/(^|\.)xn--/.test(url.hostname)) {
    warnings.push('The host name has letters other than a–z, which can make it look like another site.');
  }
  return warnings;
}
