import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { turn } from '../../../tests/support/turn.ts';
import type { Message } from '../message.ts';
import { StdioWire } from './wire.ts';

function setUp() {
  const input = new PassThrough();
  const output = new PassThrough();
  const write = vi.spyOn(output, 'write');
  const wire = new StdioWire(input, output, 1000);
  const received: Message[] = [];
  const events: string[] = [];
  wire.onmessage = (message) => received.push(message);
  wire.onend = () => events.push('end');
  wire.onclose = () => events.push('close');
  wire.onerror = (error) => events.push(error.message);
  wire.start();
  const written = (): string => write.mock.calls.map(([text]) => String(text)).join('');
  return { input, output, wire, write, received, events, written };
}

const note = (n: number): Message => ({ jsonrpc: '2.0', method: `n${n}` });
const reply = (id: number): Message => ({ jsonrpc: '2.0', id, result: {} });

test('S-5: replies of one turn are written together, and each callback is called', async () => {
  const { wire, write, written } = setUp();
  const told = vi.fn();
  wire.send(reply(1), told);
  wire.send(reply(2), told);
  expect(wire.unreadBytes).toBeGreaterThan(0);
  expect(write).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(2));
  expect(told).toHaveBeenCalledWith(undefined);
  expect(write).toHaveBeenCalledTimes(1);
  expect(written()).toBe(`${JSON.stringify(reply(1))}\n${JSON.stringify(reply(2))}\n`);
});

test('T-7: a notification is written before the reply that follows it, and in a write of its own', async () => {
  const { wire, write } = setUp();
  wire.send(reply(1));
  wire.send(note(1));
  wire.send(reply(2));
  await turn();
  const texts = write.mock.calls.map(([text]) => String(text));
  expect(texts).toEqual([`${JSON.stringify(reply(1))}\n${JSON.stringify(note(1))}\n`, `${JSON.stringify(reply(2))}\n`]);
});

test('S-5: messages sent before the close are written, and later messages fail', async () => {
  const { wire, written, events } = setUp();
  wire.send(reply(1));
  wire.close();
  const told = vi.fn();
  wire.send(note(2), told);
  expect(told).toHaveBeenCalledWith(expect.objectContaining({ message: 'the connection is closed' }));
  await turn();
  expect(written()).toBe(`${JSON.stringify(reply(1))}\n`);
  expect(events).toEqual(['close']);
});

test('S-5: messages may arrive in arbitrary chunks', async () => {
  const { input, received } = setUp();
  const text = `${JSON.stringify(note(1))}\nno JSON\n${JSON.stringify(note(2))}\n`;
  for (const at of [0, 5, 40]) input.write(text.slice(at, at === 40 ? undefined : at === 0 ? 5 : 40));
  await vi.waitFor(() => expect(received).toEqual([note(1), note(2)]));
});

test('X-3, X-4: a malformed request is answered, and a message that is too large closes the wire', async () => {
  const { input, written, events } = setUp();
  input.write('{"jsonrpc":"1.0","id":7,"method":"x"}\n');
  await vi.waitFor(() => expect(written()).toContain('"id":7,"error":{"code":-32600'));
  input.write('x'.repeat(1001));
  await vi.waitFor(() => expect(events.at(-1)).toBe('close'));
});

test('S-4: a client that ends its input can still get messages', async () => {
  const { input, wire, events, written } = setUp();
  input.end();
  await vi.waitFor(() => expect(events).toEqual(['end']));
  wire.send(note(1));
  await vi.waitFor(() => expect(written()).toContain('n1'));
});

test('S-4: a client whose input is destroyed closes the wire', async () => {
  const { input, events } = setUp();
  input.destroy();
  await vi.waitFor(() => expect(events).toEqual(['close']));
});
