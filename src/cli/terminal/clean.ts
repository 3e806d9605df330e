const ESCAPE = '\u001B';

/** Sequences with an end (titles, links), then those with parameters (colours, moves), then those of two characters. */
const SEQUENCES = new RegExp(
  [
    `${ESCAPE}[\\]PX^_][^\u0007${ESCAPE}]*(?:\u0007|${ESCAPE}\\\\)`,
    `(?:${ESCAPE}\\[|\u009B)[0-?]*[ -/]*[@-~]`,
    `${ESCAPE}[ -/]*[0-~]`,
  ].join('|'),
  'g',
);

/** Control characters but line break and tab, and those that turn the direction of writing. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Text of a server, fit for a terminal: it can neither move the cursor, nor clear the screen, nor look like something
 * else than it is.
 */
export function clean(text: unknown): string {
  // What is left of a sequence that was cut out of another is harmless without its first character.
  return textOf(text).replaceAll(/\r\n?/g, '\n').replaceAll(SEQUENCES, '').replaceAll(UNPRINTABLE, '');
}

/** The same on one line. */
export function cleanLine(text: unknown): string {
  return clean(text).replaceAll(/\s+/g, ' ').trim();
}

/** JSON that may be shown on a terminal, and is still the same document. */
export function cleanJson(json: string): string {
  return json.replaceAll(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Where there should be a text, a server may have put anything. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}
