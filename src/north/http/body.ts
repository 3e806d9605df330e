import type { IncomingMessage } from 'node:http';
import { parseExact } from '../../lib/exact-json.ts';

type Body = { kind: 'json'; value: unknown; bytes: number } | { kind: 'too-large' } | { kind: 'broken'; why: string };

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
    req.on('end', () => resolve(parse(chunks)));
    // Node emits no error without a listener for it, but always this.
    req.on('close', () => resolve({ kind: 'broken', why: 'the connection was closed' }));
  });
}

function parse(chunks: Buffer[]): Body {
  try {
    const [only] = chunks;
    const text = (chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)).toString('utf8');
    return { kind: 'json', value: parseExact(text), bytes: text.length };
  } catch (error) {
    return { kind: 'broken', why: (error as Error).message };
  }
}
