/** A URL fit for lists and logs: no credentials, no query values. */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return '(not a url)';
  }
  url.username = '';
  url.password = '';
  for (const name of url.searchParams.keys()) url.searchParams.set(name, '***');
  url.hash = '';
  return url.href;
}
