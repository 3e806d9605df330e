import type { Agent } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FetchLike } from '@modelcontextprotocol/client';
import { httpRequest } from './http-request.ts';

const METHODS = ['GET', 'POST', 'DELETE'] as const;
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * `fetch` through an agent of `node:http`, for what the SDK sends by itself. Unlike the global `fetch` it goes only where the
 * agent may connect to, and follows no redirect to another origin.
 */
export function fetchThrough(agent: Agent): FetchLike {
  return async (input, { method: given = 'GET', headers, body, signal } = {}) => {
    const url = new URL(input);
    const method = METHODS.find((each) => each === given.toUpperCase());
    if (method === undefined || (body !== undefined && body !== null && typeof body !== 'string')) {
      throw new TypeError(`cannot send a ${given} request of this kind`);
    }
    const sent = Object.fromEntries(new Headers(headers));
    const answer = await httpRequest(agent, url, method, sent, body ?? undefined, signal ? [signal] : []);
    const received = new Headers();
    for (const [name, value = []] of Object.entries(answer.headers)) {
      for (const each of [value].flat()) received.append(name, each);
    }
    const empty = WITHOUT_BODY.has(answer.status);
    if (empty) answer.body.resume();
    const content = empty ? null : (Readable.toWeb(answer.body) as ReadableStream<Uint8Array>);
    const response = new Response(content, { status: answer.status, headers: received });
    // Addresses in the body may be relative to it.
    Object.defineProperty(response, 'url', { value: url.href });
    return response;
  };
}
