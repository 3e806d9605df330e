import { displayWidth, wrap } from './layout.ts';

/** Longer lines are hard to read. */
const WIDEST = 100;
/** If the output is not a terminal. */
const USUAL = 80;
/** Text that would get a narrower column goes on lines of its own. */
const NARROWEST_COLUMN = 24;

/** The width of help on this output. */
export function readingWidth({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY ? Math.min(columns ?? USUAL, WIDEST) : USUAL;
}

/**
 * Wraps help at a width. Help consists of paragraphs and indented rows; the last column of a row follows its last gap of two
 * spaces. Lines of a paragraph, and lines indented deeper than their row, are joined first.
 */
export function reflow(text: string, columns: number): string {
  return joined(text.split('\n'))
    .flatMap((line) => broken(line, columns))
    .join('\n');
}

function joined(lines: readonly string[]): string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const before = whole.at(-1) ?? '';
    if (continues(before, line)) whole[whole.length - 1] = `${before} ${line.trimStart()}`;
    else whole.push(line);
  }
  return whole;
}

function continues(before: string, line: string): boolean {
  if (before === '' || line === '') return false;
  const [outer, inner] = [indentOf(before), indentOf(line)];
  return outer === 0 ? inner === 0 : inner > outer;
}

function broken(line: string, columns: number): string[] {
  const [, lead = '', last = ''] = /^(\s+\S.*?\s{2,})(\S(?:(?! {2}).)*)$/.exec(line) ?? [];
  const width = displayWidth(lead);
  if (lead === '') {
    const indent = ' '.repeat(indentOf(line));
    return wrap(line.trimStart(), columns - indent.length).map((each) => indent + each);
  }
  if (displayWidth(line) <= columns) return [line];
  if (columns - width >= NARROWEST_COLUMN) {
    return wrap(last, columns - width).map((each, index) => (index === 0 ? lead : ' '.repeat(width)) + each);
  }
  const indent = ' '.repeat(indentOf(line) + 4);
  return [lead.trimEnd(), ...wrap(last, columns - indent.length).map((each) => indent + each)];
}

const indentOf = (line: string): number => line.length - line.trimStart().length;
