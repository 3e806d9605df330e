import { setImmediate as turn } from 'node:timers/promises';
import { drained } from '../lib/drained.ts';

const CHUNK_CHARS = 65_536;

/** Prints any number of lines no faster than they are read, until the reader is gone. */
export async function printLines(lines: AsyncIterable<string>): Promise<void> {
  let unread = false;
  process.stdout.once('error', () => {
    unread = true;
  });
  let chunk = '';
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < CHUNK_CHARS) continue;
    await write(chunk);
    if (unread) return;
    chunk = '';
  }
  await write(chunk);
}

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await drained(process.stdout);
  // Lets an EPIPE error arrive if the reader is gone.
  await turn();
}
