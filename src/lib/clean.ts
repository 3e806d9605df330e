import { UNPRINTABLE } from './escape-controls.ts';
import { stringifyExact } from './exact-json.ts';

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
 * Makes text of a server safe for a terminal: it cannot move the cursor, clear the screen or disguise itself.
 */
export function clean(text: unknown): string {
  // Removing a sequence may leave the rest of another one, which is harmless without its first character.
  return textOf(text).replaceAll(/\r\n?/g, '\n').replaceAll(SEQUENCES, '').replaceAll(UNPRINTABLE, '');
}

/** The same on one line. */
export function cleanLine(text: unknown): string {
  return clean(text).replaceAll(/\s+/g, ' ').trim();
}

/** A server may send anything where a string is expected. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : stringifyExact(value);
}
