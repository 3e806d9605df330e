/** Connection headers, which the config cannot set. */
const OF_CONNECTION = new Set(['connection', 'content-length', 'expect', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** The configured headers of every request, with lowercase names, and the credentials of the URL. */
export function configuredHeaders(
  { username, password }: URL,
  given: Record<string, string> = {},
): Record<string, string> {
  const named = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  const headers = Object.fromEntries(named.filter(([name, value]) => !OF_CONNECTION.has(name) || isClose(name, value)));
  if (username === '' && password === '') return headers;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}`, ...headers };
}

/** For servers that do not support several requests per connection. */
const isClose = (name: string, value: string): boolean => name === 'connection' && value.toLowerCase() === 'close';
