/** The liar as a program; TEST_MANNER tells which one. */
import { createInterface } from 'node:readline';
import { Liar, type Manner } from './liar.ts';
import { peerBy, type Asked, type Json } from './liar/peer.ts';

const manner = (process.env['TEST_MANNER'] ?? 'legacy') as Manner;
const liar = new Liar(manner);
const asked: Asked = new Map();

function say(message: Json): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

async function hear(line: string): Promise<void> {
  if (manner === 'stranger') return void process.stdout.write('Welcome!\n');
  if (manner === 'parrot') return void process.stdout.write('{"hello":"world"}\n');
  const { id, method, params = {}, ...rest } = JSON.parse(line) as Json;
  if (typeof method !== 'string') asked.get(id)?.(rest);
  else if (id !== undefined) await liar.handle({ method, params: params as Json }, peerBy(id, asked, say));
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    hear(line).catch((error: unknown) => console.error(String(error)));
  })
  .once('close', () => process.exit(0));
