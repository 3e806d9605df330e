import { displayWidth, fit, pad } from './width.ts';

/** A name of this length is still worth its column. */
const WIDEST_COLUMN = 50;

/** Rows in columns; what is in the last one is cut where the terminal ends. */
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
