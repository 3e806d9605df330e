import type { IncomingMessage } from 'node:http';
import { append } from '../../lib/append.ts';
import { parseExact } from '../../lib/exact-json.ts';

export type Body = { kind: 'complete'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'broken'; why: string };

const READING = Symbol('reading');

interface BodyRequest extends IncomingMessage {
  [READING]?: PartialBody | undefined;
}

/** What has been read of a body. */
interface PartialBody {
  chunks: Buffer[] | undefined;
  size: number;
  readonly limit: number;
  readonly resolve: (body: Body) => void;
}

/** Reads a request body once, up to a limit. The rest of a larger one is discarded; `endResponse` waits for its end. */
export function readBody(req: BodyRequest, limit: number): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.resolve({ kind: 'too-large' });
  return new Promise((resolve) => {
    req[READING] = { chunks: undefined, size: 0, limit, resolve };
    // Not closures, which would stay with the request until it is answered.
    req.on('data', onData);
    req.on('end', onEnd);
    // Node emits `error` only with a listener, but always `close`.
    req.on('close', onClose);
  });
}

function onData(this: BodyRequest, chunk: Buffer): void {
  const reading = this[READING];
  if (reading === undefined) return;
  reading.size += chunk.length;
  if (reading.size <= reading.limit) {
    reading.chunks = append(reading.chunks, chunk);
    return;
  }
  this[READING] = undefined;
  reading.resolve({ kind: 'too-large' });
}

function onEnd(this: BodyRequest): void {
  const reading = this[READING];
  this[READING] = undefined;
  reading?.resolve({ kind: 'complete', bytes: joined(reading.chunks ?? []) });
}

function onClose(this: BodyRequest): void {
  this[READING]?.resolve({ kind: 'broken', why: 'the connection was closed' });
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
