import type { IncomingMessage } from 'node:http';

export type Body = { kind: 'json'; value: unknown } | { kind: 'too-large' } | { kind: 'broken'; why: string };

/** Reads a request body once, up to a limit. */
export async function readBody(req: IncomingMessage, limit: number): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return { kind: 'too-large' };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) return { kind: 'too-large' };
      chunks.push(chunk);
    }
  } catch (error) {
    return { kind: 'broken', why: (error as Error).message };
  }
  try {
    return { kind: 'json', value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch (error) {
    return { kind: 'broken', why: (error as Error).message };
  }
}
