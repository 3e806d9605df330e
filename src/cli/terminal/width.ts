/** How many columns text takes in a terminal. */

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}])/u;
const NONE = /^[\p{M}\p{Cf}]+$/u;

export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** As much of it as fits, with an ellipsis if that is not all. */
export function fit(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [fitting, width] = ['', 0];
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    fitting += segment;
  }
  return columns > 0 ? `${fitting}…` : '';
}

/** Filled up with spaces. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

function graphemeWidth(segment: string): number {
  if (NONE.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}

/** Lines of at most so many columns, broken between words where that is possible. */
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
