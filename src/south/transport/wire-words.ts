const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the network',
  ETIMEDOUT: 'the host does not answer',
};

/** Why a request did not get through. The code stays: it is what people look up. */
export function wireWords({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined) return message;
  const words = WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}
