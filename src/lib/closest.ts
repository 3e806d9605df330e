/** Longer names are ignored, because the work grows with their length; misspelt names are shorter. */
const MAX_LENGTH = 200;
const MAX_NAMES = 1000;

/** The known name that is contained in this one or the other way round, or differs in few letters. */
export function closest(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH || known.length > MAX_NAMES) return undefined;
  const wanted = name.toLowerCase();
  const short = known.filter(({ length }) => length <= MAX_LENGTH);
  const scored = short.map((each) => {
    const candidate = each.toLowerCase();
    const contained = wanted.length >= 3 && (candidate.includes(wanted) || wanted.includes(candidate));
    return { each, distance: contained ? 1 : distance(wanted, candidate) };
  });
  scored.sort((a, b) => a.distance - b.distance);
  const [best] = scored;
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.each : undefined;
}

/** The Levenshtein distance, with a swap of two letters as one mistake. */
function distance(a: string, b: string): number {
  let beforeRow: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeRow[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(substituted, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [beforeRow, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
