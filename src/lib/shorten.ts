/** How much of a text that a client or a server chose goes into an error message or a log line. */
export const MAX_MESSAGE = 4096;

/** A text for people, no longer than `limit`; what is cut off is counted. */
export function shortenText(text: string, limit = MAX_MESSAGE): string {
  if (text.length <= limit) return text;
  return `${copyOf(text.slice(0, limit))}… (${text.length - limit} more characters)`;
}

/** A part of a string keeps the whole string in memory; a copy does not. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
