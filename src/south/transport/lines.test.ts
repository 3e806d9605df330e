import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { onLines } from './lines.ts';

async function linesOf(...chunks: (string | Buffer)[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  onLines(stream, (line) => lines.push(line));
  for (const chunk of chunks) stream.write(chunk);
  await new Promise((resolve) => stream.once('close', resolve).end());
  return lines;
}

test('B-4: lines are complete regardless of the chunks, including an unfinished last line', async () => {
  expect(await linesOf('a\r\nb', 'c\n\nd')).toEqual(['a', 'bc', '', 'd']);
  const euro = Buffer.from('€\n');
  expect(await linesOf(euro.subarray(0, 1), euro.subarray(1))).toEqual(['€']);
});

test('B-4, X-3: a very long line is emitted in pieces, in order', async () => {
  const lines = await linesOf('first\n', 'x'.repeat(20_000), `${'y'.repeat(20_000)}\nlast\n`);
  expect(lines[0]).toBe('first');
  expect(lines.at(-1)).toBe('last');
  expect(lines.slice(1, -1).join('')).toBe('x'.repeat(20_000) + 'y'.repeat(20_000));
  expect(Math.max(...lines.map(({ length }) => length))).toBe(8192);
});
