import type { IncomingMessage } from 'node:http';
import { parseExact } from '../../lib/exact-json.ts';

type Body = { kind: 'complete'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'broken'; why: string };

const CLOSED = { kind: 'broken', why: 'the connection was closed' } as const;

/** Reads a request body once, up to a limit. */
export async function readBody(req: IncomingMessage, limit: number): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return { kind: 'too-large' };
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        req.pause();
        resolve({ kind: 'too-large' });
      } else chunks.push(chunk);
    });
    req.on('end', () => resolve({ kind: 'complete', bytes: joined(chunks) }));
    // Node emits no error without a listener for it, but always this.
    req.on('close', () => resolve(CLOSED));
  });
}

/** Reads so many bytes of a request that does not end with them. */
export async function readFirst(req: IncomingMessage, length: number, limit: number): Promise<Body> {
  if (length > limit) return { kind: 'too-large' };
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size < length) return;
      req.off('data', onData);
      resolve({ kind: 'complete', bytes: joined(chunks).subarray(0, length) });
      chunks = [];
    };
    // What follows is read too, and ignored.
    req.on('data', onData);
    req.on('close', () => resolve(CLOSED));
    if (length === 0) onData(Buffer.alloc(0));
  });
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** The JSON value of a body, or why it is none. */
export function parseBody(bytes: Buffer): { value?: unknown; mistake?: string } {
  try {
    return { value: parseExact(bytes.toString('utf8')) };
  } catch (error) {
    return { mistake: (error as Error).message };
  }
}
