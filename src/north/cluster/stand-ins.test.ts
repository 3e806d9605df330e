import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { StandIns } from './stand-ins.ts';

const newResponse = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

test('K-3: a connection with an open request is kept, regardless of the number of others', () => {
  const standIns = new StandIns(new TestClock());
  const open = newResponse();
  const used = standIns.of('a', 0, open);
  const once = (connection: number): unknown => {
    const res = newResponse();
    const standIn = standIns.of('a', connection, res);
    res.emit('close');
    return standIn;
  };
  const second = once(1);
  const third = once(2);
  for (let connection = 3; connection < 9000; connection += 1) once(connection);
  // Used again, so it is not among those that have been idle for longest.
  expect(once(1)).toBe(second);
  for (let connection = 9000; connection <= 10_001; connection += 1) once(connection);
  expect(once(0)).toBe(used);
  expect(once(1)).toBe(second);
  expect(once(2)).not.toBe(third);
  open.emit('close');
});

test('K-3: connections that are idle for long are dropped', () => {
  const clock = new TestClock();
  const standIns = new StandIns(clock);
  const first = newResponse();
  const before = standIns.of('a', 1, first);
  first.emit('close');
  clock.advance(66_000);
  const other = newResponse();
  standIns.of('a', 2, other);
  other.emit('close');
  expect(standIns.of('a', 1, newResponse())).not.toBe(before);
});
