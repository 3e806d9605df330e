const CONTEXT = 2;

/**
 * The parts of a line in JSON or TOML. A line with anything else, such as the middle of a long comment or of a text with
 * several lines, is not shown.
 */
const PART = new RegExp(
  [
    /(?<string>"(?:[^"\\]|\\.)*"|'[^']*')/,
    /(?<comment>\/\/|#|\/\*).*/,
    /^\s*\[{1,2}(?:[\w.-]|"[^"]*")+\]{1,2}/,
    /[\w-]+(?:\.[\w-]+)*(?=\s*=\s*[^\s=])/,
    /[+-]?\d[\d._:TZeE+-]*(?![A-Za-z])|true|false|null/,
    /[\s{}[\],:=]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
);

/** Longer lines are shown around the place that differs: some programs write their file in one line. */
const LONGEST = 160;

/** The lines that differ, with context. `isOpen`: whether a value may be shown; a file may contain secrets. */
export function diff(before: string, after: string, isOpen: (value: string) => boolean): string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const first = commonStart(old, now);
  const same = commonStart(old.slice(first).toReversed(), now.slice(first).toReversed());
  const end = old.length - same;
  const hide = (line: string): string => masked(line, isOpen);
  const [removed, added] = [old.slice(first, end).map(hide), now.slice(first, now.length - same).map(hide)];
  const place = commonStart((removed[0] ?? '').split(''), (added[0] ?? '').split(''));
  const show = (sign: string, at: number) => (line: string) => `${sign} ${shown(line, at)}`.trimEnd();
  return [
    ...old
      .slice(Math.max(0, first - CONTEXT), first)
      .map(hide)
      .map(show(' ', 0)),
    ...removed.map(show('-', place)),
    ...added.map(show('+', place)),
    ...old
      .slice(end, end + CONTEXT)
      .map(hide)
      .map(show(' ', 0)),
  ];
}

/** How many elements both begin with. */
function commonStart(a: readonly string[], b: readonly string[]): number {
  const differs = a.findIndex((element, index) => element !== b[index]);
  return differs < 0 ? a.length : differs;
}

function shown(line: string, place: number): string {
  if (line.length <= LONGEST) return line;
  const start = Math.max(0, place - LONGEST / 4);
  const end = start + LONGEST;
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`;
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function masked(line: string, isOpen: (value: string) => boolean): string {
  let shown = '';
  PART.lastIndex = 0;
  while (PART.lastIndex < line.length) {
    const found = PART.exec(line);
    if (found === null) return `${/^\s*/.exec(line)?.[0]}***`;
    const { string, comment } = found.groups ?? {};
    const isKey = /^\s*[:=]/.test(line.slice(PART.lastIndex, PART.lastIndex + LONGEST));
    if (comment !== undefined) shown += `${comment} ***`;
    else shown += string === undefined || isKey || isOpen(textOf(string)) ? found[0] : '"***"';
  }
  return shown;
}

function textOf(literal: string): string {
  if (literal.startsWith("'")) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
