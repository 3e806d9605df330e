/** Text laid out in the columns of a terminal. */

import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';

const ASCII = /^[\x20-\x7e]*$/;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{Control}\p{Mark}]/u;

/** Created for the first non-ASCII text, because loading its data is slow. */
let segmenter: Intl.Segmenter | undefined;

function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  return graphemes(stripVTControlCharacters(text)).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Cuts text that is too wide and ends it with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [fitting, width] = ['', 0];
  for (const grapheme of graphemes(text)) {
    width += displayWidth(grapheme);
    if (width > columns - 1) break;
    fitting += grapheme;
  }
  return columns > 0 ? `${fitting}…` : '';
}

/** Fills up with spaces. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

/** Breaks between words. A word that is wider than a line gets a line of its own. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** Longer cells do not widen their column. */
const WIDEST_COLUMN = 50;

/** Rows in columns, cut where the terminal ends. */
export function table(rows: readonly (readonly string[])[], columns: number = Infinity): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(WIDEST_COLUMN, displayWidth(cell)));
    }
  }
  const lines = rows.map((row) => {
    const last = row.length - 1;
    const cells = row.map((cell, index) => (index === last ? cell : pad(cell, widths[index] ?? 0)));
    return fit(cells.join('  ').trimEnd(), columns);
  });
  return lines.join('\n');
}
