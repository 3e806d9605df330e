import type { IncomingMessage } from 'node:http';
import { parseExact } from '../../lib/exact-json.ts';

export type Body = { kind: 'complete'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'broken'; why: string };

/** Reads a request body once, up to a limit. The rest of a larger one is discarded; `endResponse` waits for its end. */
export function readBody(req: IncomingMessage, limit: number): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.resolve({ kind: 'too-large' });
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks = [];
        resolve({ kind: 'too-large' });
      }
    });
    req.on('end', () => resolve({ kind: 'complete', bytes: joined(chunks) }));
    // Node emits `error` only with a listener, but always `close`.
    req.on('close', () => resolve({ kind: 'broken', why: 'the connection was closed' }));
  });
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** The JSON value of a body, or the reason why it is not JSON. */
export function parseBody(bytes: Buffer): { value?: unknown; mistake?: string } {
  try {
    return { value: parseExact(bytes.toString('utf8')) };
  } catch (error) {
    return { mistake: (error as Error).message };
  }
}
