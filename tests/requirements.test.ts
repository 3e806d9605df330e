import { expect, test } from 'vitest';
import { sourceFiles } from './support/imports.ts';

/** The requirements that the product must meet by now: first and last number of each group, or single ones. */
const DUE = [
  'H-1..13',
  'T-1..7',
  'E-1..5',
  'S-1..5',
  'B-1..6',
  'R-1..18',
  'C-1..3',
  'D-1..7',
  'P-1..4',
  'L-1..3',
  'M-1..8',
  'X-1..4',
  'K-1..9',
  'V-1..4',
  'W-1..10',
  'N-1..4',
  'G-1..5',
  'O-1',
  'O-2',
  'A-1..14',
  'A-20..36',
  'A-N',
  'A-P',
  'A-Q',
  'A-S',
];

const ids = DUE.flatMap((entry) => {
  const [, group, first, last = first] = /^([A-Z])-(\d+)(?:\.\.(\d+))?$/.exec(entry) ?? [];
  if (group === undefined) return [entry];
  const from = Number(first);
  return Array.from({ length: Number(last) - from + 1 }, (_, index) => `${group}-${from + index}`);
});

/** A title begins with what it proves: `'H-3, T-1: …'`. */
const TITLE = /\(\s*['"`]([A-Z]-(?:\d+|[A-Z])(?:, [A-Z]-(?:\d+|[A-Z]))*): /g;

async function citedIds(): Promise<Set<string>> {
  const files = [...(await sourceFiles('src')), ...(await sourceFiles('tests'))];
  const proofs = files
    .filter(({ path }) => /\.(test|contract)\.ts$/.test(path))
    .flatMap(({ text }) => [...text.matchAll(TITLE)].map(([, proves = '']) => proves));
  return new Set(proofs.flatMap((proves) => proves.split(', ')));
}

test('every due requirement has a test that cites it', async () => {
  expect(ids).toContain('H-12');
  expect(ids).toHaveLength(152);
  const cited = await citedIds();
  expect(cited.size).toBeGreaterThan(20);
  expect(ids.filter((id) => !cited.has(id))).toEqual([]);
});
