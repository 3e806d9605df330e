import { expect, test } from 'vitest';
import { TextPieces } from './text-pieces.ts';

const TEXT = 'aü€😀z';

test('M-7, B-1: characters that are split between pieces arrive whole', () => {
  const bytes = Buffer.from(TEXT);
  for (let first = 0; first <= bytes.length; first += 1) {
    for (let second = first; second <= bytes.length; second += 1) {
      const text = new TextPieces();
      for (const piece of [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]) {
        text.add(piece);
      }
      expect(text.take()).toBe(TEXT);
    }
  }
});

test('B-1: nothing of a text remains after it was taken or cleared', () => {
  const text = new TextPieces();
  const bytes = Buffer.from(TEXT);
  for (const end of [() => void text.take(), () => text.clear()]) {
    // Each ends in the middle of a character.
    for (const piece of [bytes.subarray(0, 1), bytes.subarray(1, 2)]) text.add(piece);
    end();
    text.add(bytes);
    expect(text.pieces).toEqual([bytes]);
    expect(text.take()).toBe(TEXT);
  }
});
