/** The rich server as a program; TEST_ERA tells which one. */
import { createInterface } from 'node:readline';
import { Rich } from './rich.ts';
import type { Era, Json, Peer } from './rich/wire.ts';

const rich = new Rich((process.env['TEST_ERA'] ?? 'legacy') as Era);
const say = (method: string, params?: Json): void => send({ method, ...(params && { params }) });
const visitor = rich.visit((method, params, id) =>
  send({ ...(id !== undefined && { id }), method, ...(params && { params }) }),
);

function send(message: Json): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function peerOf(id: unknown): Peer {
  return {
    reply: (result) => send({ id, result }),
    fail: (error) => send({ id, error }),
    say,
    // Who does not want to hear any more says so.
    onGone: () => {},
  };
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line) as Json;
    const { id, method, params } = message;
    if (typeof method !== 'string') rich.answered(message);
    else if (id === undefined) rich.hear(method, params as Json | undefined);
    else void rich.handle({ id, method, params: (params ?? {}) as Json, paramHeaders: {} }, peerOf(id), visitor);
  })
  .once('close', () => process.exit(0));
