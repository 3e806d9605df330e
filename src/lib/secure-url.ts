/** The names of this machine that a URL may have. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether the connection is protected: https, or http that does not leave this machine. */
export function isSecureUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || LOOPBACK.has(hostname);
}
