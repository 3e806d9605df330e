/** The liar as a program; TEST_MANNER tells which one. */
import { createInterface } from 'node:readline';
import { Liar, type Manner } from './liar.ts';
import type { Json, Peer } from './liar/peer.ts';

const manner = (process.env['TEST_MANNER'] ?? 'legacy') as Manner;
const liar = new Liar(manner);
const asked = new Map<unknown, (answer: Json) => void>();

function say(message: Json): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function peerOf(id: unknown): Peer {
  return {
    reply: (result) => say({ id, result }),
    fail: (code, message) => say({ id, error: { code, message } }),
    notify: (method, params) => say({ method, params }),
    ask: (method, params) => {
      const question = `question-${asked.size + 1}`;
      return new Promise((resolve) => {
        asked.set(question, ({ result, error }) => resolve((result ?? error ?? {}) as Json));
        say({ id: question, method, params });
      });
    },
  };
}

async function hear(line: string): Promise<void> {
  if (manner === 'stranger') return void process.stdout.write('Welcome!\n');
  if (manner === 'parrot') return void process.stdout.write('{"hello":"world"}\n');
  const { id, method, params = {}, ...rest } = JSON.parse(line) as Json;
  if (typeof method !== 'string') asked.get(id)?.(rest);
  else if (id !== undefined) await liar.handle({ method, params: params as Json }, peerOf(id));
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    hear(line).catch((error: unknown) => console.error(String(error)));
  })
  .once('close', () => process.exit(0));
