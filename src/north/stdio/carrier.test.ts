import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { Exchange } from '../exchange.ts';
import { StdioCarrier } from './carrier.ts';
import { StdioWire } from './wire.ts';

function setUp() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const carrier = new StdioCarrier(new StdioWire(input, output, 10_000), output);
  carrier.start();
  return { carrier, output };
}

test('X-4: a reply that cannot be serialized leaves its exchange to the error reply', async () => {
  const { carrier, output } = setUp();
  const exchange = new Exchange();
  carrier.track(1, exchange);
  const settled = vi.fn();
  exchange.whenSettled(settled);
  const result: Record<string, unknown> = {};
  result['itself'] = result;
  expect(() => carrier.send({ jsonrpc: '2.0', id: 1, result })).toThrow(TypeError);
  carrier.send({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'no' } });
  await vi.waitFor(() => expect(settled).toHaveBeenCalledWith(true));
  expect(String(output.read())).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}\n');
  carrier.close();
});

test('X-4: a reply to a closed connection is not sent, and its exchange ends', () => {
  const { carrier } = setUp();
  carrier.close();
  const exchange = new Exchange();
  carrier.track(1, exchange);
  carrier.send({ jsonrpc: '2.0', id: 1, result: {} });
  expect(exchange.open).toBe(false);
});
