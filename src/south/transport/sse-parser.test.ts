import { expect, test } from 'vitest';
import { MessageLimit } from './message-size.ts';
import type { OversizeMessage } from './oversize-message.ts';
import { SseParser, type SseEvent } from './sse-parser.ts';

interface Read {
  events: SseEvent[];
  oversize: OversizeMessage[];
  retries: number[];
  endless: number;
}

const source = { pause: () => {}, resume: () => {} };

/** Fed in pieces of that size. */
function read(text: string, size: number, limit = 10_000): Read {
  const found: Read = { events: [], oversize: [], retries: [], endless: 0 };
  const parser = new SseParser(new MessageLimit(limit), source, {
    onEvent: (event) => void found.events.push(event),
    onOversize: (message) => void found.oversize.push(message),
    onEndless: () => void (found.endless += 1),
    onRetry: (ms) => void found.retries.push(ms),
  });
  for (let at = 0; at < text.length; at += size) parser.feed(text.slice(at, at + size));
  return found;
}

const STREAM = [
  '\uFEFF: a comment',
  'event: endpoint',
  'id: 1',
  'data: {"a":1}',
  '',
  'retry: 250',
  'data',
  'data:two',
  'data:  lines',
  '',
  'id: primed',
  'data:',
  '',
  '',
  'unknown: field',
  '',
  'data: not complete',
];

test.each(['\n', '\r\n', '\r'])('B-1: events are complete regardless of the chunks (%j)', (end) => {
  const text = STREAM.join(end) + end;
  for (let size = 1; size <= text.length; size += 1) {
    expect(read(text, size)).toEqual({
      events: [
        { id: '1', name: 'endpoint', data: '{"a":1}' },
        { id: undefined, name: 'message', data: '\ntwo\n lines' },
        { id: 'primed', name: 'message', data: '' },
      ],
      oversize: [],
      retries: [250],
      endless: 0,
    });
  }
});

test('B-1: an event ID that no header can contain is ignored', () => {
  const { events } = read('id: a\0\ndata: 1\n\nid: b\u0007\ndata: 2\n\nid: ñ\ndata: 3\n\n', 100, 1000);
  expect(events.map(({ id }) => id)).toEqual([undefined, undefined, 'ñ']);
});

test.each([
  ['one line', `data: ${JSON.stringify({ jsonrpc: '2.0', id: 7, result: { text: 'x'.repeat(7000) } })}\n`],
  ['many lines', `data: {"jsonrpc":"2.0","id":7,\n${'data:\n'.repeat(5000)}data: "result":{}}\n`],
])('X-3, B-1: an event that is too large is skipped (%s)', (_what, large) => {
  for (const [size, end] of [1, 13, 1000, 100_000].flatMap((each) =>
    ['\n', '\r\n', '\r'].map((end) => [each, end] as const),
  )) {
    const text = `data: before\n\n${large}\ndata: after\n\n`.replaceAll('\n', end);
    const { events, oversize } = read(text, size, 6000);
    expect(events.map(({ data }) => data)).toEqual(['before', 'after']);
    expect(oversize.map((message) => message.about())).toEqual([{ id: 7, isRequest: false }]);
  }
});

test('X-3, B-1: an event that does not end is reported', () => {
  expect(read(`data: ${'x'.repeat(20_000)}`, 1000, 1000).endless).toBeGreaterThan(0);
  expect(read('data:\n'.repeat(5000), 1000, 1000).endless).toBeGreaterThan(0);
});

test('X-3, B-1: the ID at the end of a long message is found, wherever the limit and the chunks cut it', () => {
  const event = `data: ${JSON.stringify({ result: { text: 'x'.repeat(3000) }, jsonrpc: '2.0', id: 'seven' })}\n\n`;
  for (const size of [7, 50, 100]) {
    // Each piece of a line counts for some bytes more than its text.
    const most = event.length + 8 * Math.ceil(event.length / size);
    let skipped = 0;
    for (let limit = most - 100; limit < most; limit += 1) {
      const { oversize } = read(event, size, limit);
      skipped += oversize.length;
      for (const message of oversize) expect(message.about()).toEqual({ id: 'seven', isRequest: false });
    }
    expect(skipped).toBeGreaterThan(50);
  }
});
