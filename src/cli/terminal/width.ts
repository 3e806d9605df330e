/** Text measured in terminal columns. */

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
