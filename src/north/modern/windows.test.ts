import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import type { EventReader } from '../../core/event/reader.ts';
import { Windows } from './windows.ts';

/** Sends the ids one after the other, each on the named connection; says which window each was taken for. */
type Request = [id: number | string, connection: string, waitMs?: number];

function sequence(...requests: Request[]): { windows: number[]; confused: number } {
  return sequenceWith({ forwarded: false }, requests);
}

function sequenceWith(options: { forwarded: boolean }, requests: Request[]): { windows: number[]; confused: number } {
  let confused = 0;
  const session = {
    events: {
      confuse: () => {
        confused += 1;
      },
      forget: () => {},
    },
  };
  const clock = new TestClock();
  const tracker = new Windows(clock, options);
  const sockets = new Map<string, Socket>();
  const readers: EventReader[] = [];
  const windows = requests.map(([id, connection, waitMs = 0]) => {
    clock.advance(waitMs);
    const socket = sockets.get(connection) ?? new Socket();
    sockets.set(connection, socket);
    const reader = tracker.readerOf(session, id, socket);
    if (!readers.includes(reader)) readers.push(reader);
    return readers.indexOf(reader);
  });
  return { windows, confused };
}

test('S-5: a window is recognized by its request IDs on any connection', () => {
  const ids = sequence([0, 'a'], [1, 'b'], [2, 'c']);
  expect(ids).toEqual({ windows: [0, 0, 0], confused: 0 });
  expect(sequence(['x-0', 'a'], ['x-1', 'b']).windows).toEqual([0, 0]);
});

test('S-5: windows that share a connection are distinguished by their request IDs', () => {
  expect(sequence([0, 'a'], [1, 'a'], [2, 'a'], [0, 'a'], [3, 'a'], [1, 'a']).windows).toEqual([0, 0, 0, 1, 0, 1]);
  expect(sequence(['x-0', 'a'], ['y-0', 'a'], ['y-1', 'a'], ['x-1', 'a']).windows).toEqual([0, 1, 1, 0]);
});

test('S-5: windows with equally close IDs are marked as confused', () => {
  expect(sequence([0, 'a'], [0, 'b'], [1, 'c'], [1, 'd']).confused).toBe(1);
});

test('S-5: if the IDs are not a sequence, the connection decides', () => {
  expect(sequence(['abc', 'a'], ['def', 'a'], ['ghi', 'b']).windows).toEqual([0, 0, 1]);
  expect(sequence([5, 'a'], [9, 'a'], [13, 'a'], [14, 'b']).windows).toEqual([0, 0, 0, 0]);
});

test('S-5: parallel requests of one window may arrive in any order', () => {
  expect(sequence([0, 'a'], [3, 'b'], [1, 'c'], [2, 'd'], [4, 'a']).windows).toEqual([0, 0, 0, 0, 0]);
  // Also the first ones that a gateway sees after its start.
  expect(sequence([41, 'a'], [40, 'b'], [39, 'c'], [42, 'd']).windows).toEqual([0, 0, 0, 0]);
});

test('S-5: a request may be two seconds late, and later if it was forwarded', () => {
  const late: Request[] = [
    [0, 'a'],
    [2, 'b'],
    [1, 'c', 3000],
  ];
  expect(sequenceWith({ forwarded: false }, late).windows).toEqual([0, 0, 1]);
  expect(sequenceWith({ forwarded: true }, late).windows).toEqual([0, 0, 0]);
});
