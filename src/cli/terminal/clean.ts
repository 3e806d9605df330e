import { UNPRINTABLE } from '../../lib/escape-controls.ts';

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

/** Where there should be a text, a server may have put anything. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}
