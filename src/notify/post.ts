import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { cleanLine } from '../lib/clean.ts';
import { messageOf } from '../lib/log.ts';
import { shortenText } from '../lib/shorten.ts';
import { VERSION } from '../lib/version.ts';
import { SendFailure } from './target.ts';

export interface PostOptions {
  headers?: Record<string, string> | undefined;
  /** Resolves the host name. */
  lookup?: LookupFunction | undefined;
}

/** How much of a response is read: it says why a message was not taken. */
const READ_BYTES = 2048;
const SHOWN_CHARS = 200;
const LONGEST_RETRY_S = 3600;

/** Sends JSON. Redirects are not followed: they could lead anywhere, also into the network of the gateway. */
export async function sendJson(url: URL, body: string, signal: AbortSignal, options: PostOptions = {}): Promise<void> {
  const { headers, lookup } = options;
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const { response, text } = await new Promise<{ response: IncomingMessage; text: string }>((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: {
        'user-agent': `meanwhile/${VERSION}`,
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
      // A connection of its own for each message: they are few, and one that hangs concerns no other.
      agent: false,
      signal,
      ...(lookup && { lookup }),
    });
    sent.on('response', (received) => {
      const reading = isTaken(received) ? Promise.resolve('') : read(received);
      reading.then((start) => resolve({ response: received, text: start }), reject).finally(() => received.destroy());
    });
    sent.on('error', reject);
    sent.end(body);
  }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : networkFailure(error);
  });
  if (!isTaken(response)) throw refusal(response.statusCode ?? 0, text, response.headers['retry-after']);
}

const isTaken = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode < 300;

/** The beginning of the body; the rest is not read. */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= READ_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, READ_BYTES);
}

function refusal(status: number, text: string, retryAfter: string | undefined): SendFailure {
  if (status >= 300 && status < 400) {
    return new SendFailure(`HTTP ${status}: redirects are not followed; configure the final URL`);
  }
  const said = cleanLine(shortenText(text, SHOWN_CHARS));
  const seconds = Number(retryAfter);
  return new SendFailure(`HTTP ${status}${said === '' ? '' : `: ${said}`}`, {
    // Gone: the receiver does not want any more.
    isFinal: status === 410,
    retryAfterMs: seconds > 0 ? Math.min(seconds, LONGEST_RETRY_S) * 1000 : undefined,
  });
}

function networkFailure(error: unknown): Error {
  if (error instanceof SendFailure) return error;
  // With several addresses there is an error for each, and no message.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  return new SendFailure(messageOf(first) || 'the connection failed');
}
