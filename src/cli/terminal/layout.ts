/** Text laid out in the columns of a terminal. */

import stringWidth from 'string-width';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export const displayWidth = (text: string): number => stringWidth(text);

/** Cuts text that is too wide and ends it with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [fitting, width] = ['', 0];
  for (const { segment } of graphemes.segment(text)) {
    width += displayWidth(segment);
    if (width > columns - 1) break;
    fitting += segment;
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
