import { displayWidth, wrap } from './layout.ts';

/** Lines longer than this are hard to read, however wide the terminal is. */
const WIDEST = 100;
/** Where the output is no terminal: what fits everywhere. */
const USUAL = 80;
/** A narrower column is not worth having: its text goes below what it explains. */
const NARROWEST_COLUMN = 24;

/** How wide help is on this output. */
export function readingWidth({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY ? Math.min(columns ?? USUAL, WIDEST) : USUAL;
}

/**
 * Breaks help to a width. It is written as paragraphs and as indented rows, whose last column is what follows their last gap of
 * two spaces; lines of a paragraph, and lines that are indented further than their row, are joined before.
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
