/** Names to the left, figures to the right. */
export function table(columns: string[], cells: string[][], sides: ('left' | 'right')[]): string[] {
  const lines = [columns, ...cells];
  const width = (column: number): number => Math.max(7, ...lines.map((line) => line[column]?.length ?? 0));
  const pad = (text: string, column: number): string =>
    sides[column] === 'left' ? text.padEnd(width(column)) : text.padStart(width(column));
  return lines.map((line) => line.map(pad).join('  ').trimEnd());
}

export function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
