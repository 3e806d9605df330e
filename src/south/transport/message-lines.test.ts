import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { MessageLines } from './message-lines.ts';
import { MessageLimit, MessageLimits } from './message-size.ts';
import { OversizeMessage } from './oversize-message.ts';

const source = { pause: () => {}, resume: () => {} };

test('B-1: lines are complete regardless of the chunks', () => {
  const bytes = Buffer.from('{"a":"ü"}\n\n{"b":1}\n{"c"');
  for (let size = 1; size <= bytes.length; size += 1) {
    const lines = new MessageLines(new MessageLimit(100), source);
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...lines.append(bytes.subarray(at, at + size)));
    expect(found).toEqual(['{"a":"ü"}', '', '{"b":1}']);
  }
});

/** In pieces of a few bytes, as a pipe may bring them. */
function linesOf(text: string, limit: number): (string | OversizeMessage)[] {
  const lines = new MessageLines(new MessageLimit(limit), source);
  const bytes = Buffer.from(text);
  const found: (string | OversizeMessage)[] = [];
  for (let at = 0; at < bytes.length; at += 7) found.push(...lines.append(bytes.subarray(at, at + 7)));
  return found;
}

const LONG = 'x'.repeat(5000);

test.each([
  [
    { jsonrpc: '2.0', id: 5, result: { text: LONG } },
    { id: 5, isRequest: false },
  ],
  [
    { result: { text: LONG, id: 7 }, jsonrpc: '2.0', id: 'five' },
    { id: 'five', isRequest: false },
  ],
  [
    { jsonrpc: '2.0', id: 5, result: { text: LONG, id: 7 } },
    { id: 5, isRequest: false },
  ],
  [
    { method: 'elicitation/create', params: { message: LONG }, jsonrpc: '2.0', id: 0 },
    { id: 0, isRequest: true },
  ],
  [{ jsonrpc: '2.0', method: 'notifications/message', params: { data: LONG } }, { isRequest: true }],
])('X-3, B-1: a line above the limit is skipped, and its ID is found: %#', (message, about) => {
  const [before, skipped, after, ...more] = linesOf(`first\n${JSON.stringify(message)}\nlast\n`, 1000);
  expect(before).toBe('first');
  expect(skipped).toBeInstanceOf(OversizeMessage);
  expect((skipped as OversizeMessage).about()).toEqual(about);
  expect(after).toBe('last');
  expect(more).toEqual([]);
});

test('X-3, B-1: the ID at the end of a long message is found, wherever the limit cuts it', () => {
  const line = `${JSON.stringify({ result: { text: LONG }, jsonrpc: '2.0', id: 'five' })}\n`;
  for (let limit = line.length - 50; limit < line.length - 1; limit += 1) {
    const [skipped] = linesOf(line, limit);
    expect((skipped as OversizeMessage).about(), String(limit)).toEqual({ id: 'five', isRequest: false });
  }
});

test('X-3: a line that does not end while others wait is dropped, with an error that says why', () => {
  const clock = new TestClock();
  const limit = new MessageLimits(1_000_000, clock).of({});
  const streams = Array.from({ length: 12 }, () => new MessageLines(limit, source));
  for (const lines of streams) lines.append(Buffer.alloc(700_000, 'x'));
  clock.advance(30_000);
  const ended = streams.map((lines) => lines.append(Buffer.from('\n'))[0]);
  expect(ended.map((line) => typeof line)).toEqual(['object', ...Array.from({ length: 11 }, () => 'string')]);
  const [dropped] = ended as [OversizeMessage];
  expect(dropped.mistake).toContain('8 × limits.messageBytes = 8000000');
  // The next line is read again.
  const large = 'y'.repeat(950_000);
  expect(streams[0]?.append(Buffer.from(`${large}\n`))).toEqual([large]);
});
