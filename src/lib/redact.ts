/** A URL for lists and logs: without credentials, query values and parts of the path that look like a secret. */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return '(not a url)';
  }
  url.username = '';
  url.password = '';
  url.pathname = redactPath(url.pathname);
  for (const name of url.searchParams.keys()) url.searchParams.set(name, '***');
  url.hash = '';
  return url.href;
}

/** A command for lists: without arguments that look like a secret, or follow a name that says so. */
export function redactCommand(command: string, args: readonly string[] = []): string {
  const shown = args.map((arg, index) => (isSecretFlag(args[index - 1]) ? '***' : redactArgument(arg)));
  return [command, ...shown].join(' ');
}

const isSecretFlag = (flag = ''): boolean => /^--?[\w-]*(?:key|token|secret|password|auth)s?$/i.test(flag);

function redactArgument(arg: string): string {
  const [, flag, value] = /^(--?[\w-]+)=(.*)$/s.exec(arg) ?? [];
  if (flag !== undefined && value !== undefined) return `${flag}=${isSecretFlag(flag) ? '***' : redactArgument(value)}`;
  return URL.canParse(arg) ? redactUrl(arg) : redactPath(arg);
}

/** Some servers have the key of their user in the path: `/api/s/<key>/mcp`. */
function redactPath(path: string): string {
  const segments = path.split('/');
  return segments
    .map((segment, index) => (looksSecret(segment) || followsSecretName(segments[index - 1]) ? '***' : segment))
    .join('/');
}

const followsSecretName = (before = ''): boolean => /^(?:api[-_]?)?(?:key|token|secret|password|auth)s?$/i.test(before);

const SECRET_LENGTH = 16;
const WORD_LENGTH = 20;

/**
 * Names are made of words and numbers: `get-weather-2025`. In a random string, letters and digits or both cases mix within one
 * part, or a part is longer than words are.
 */
export function looksSecret(segment: string): boolean {
  if (segment.length < SECRET_LENGTH) return false;
  return segment
    .split(/[-_.~:@+=%]/)
    .some(
      (part) =>
        part.length > WORD_LENGTH ||
        (part.length >= 4 && /\d/.test(part) && /[a-z]/i.test(part)) ||
        /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(part) ||
        /^\d{10,}$/.test(part),
    );
}

const SECRET_KEY = /pass(?:word|phrase|code)|secret|token|api[-_]?key|private[-_]?key|authorization|credential|cookie/i;

/** A JSON value for lists: without the values of members whose names say that they are secret. */
export function redactSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, SECRET_KEY.test(key) ? '***' : redactSecrets(member)]),
  );
}
