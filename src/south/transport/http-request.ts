import http from 'node:http';
import https from 'node:https';
import type { AddressCheck } from '../../lib/addresses.ts';
import { checkedLookup } from './checked-address.ts';
import type { MessageLimit } from './message-size.ts';

/**
 * Servers close idle connections, many after five seconds, and for a request on a connection that is just being closed it is
 * not known whether it arrived. So a connection that was idle for nearly as long is not used again.
 */
const MAX_IDLE_MS = 4000;

/** Keeps connections to one server open between requests; destroying it closes them all. */
export function keepAliveAgent(url: URL, maxSockets: number, isAllowed?: AddressCheck): http.Agent {
  const options = { keepAlive: true, maxSockets, ...(isAllowed && { lookup: checkedLookup(isAllowed) }) };
  const agent = url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
  agent.on('free', (socket) => socket.setTimeout(MAX_IDLE_MS));
  return agent;
}

export interface HttpAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: http.IncomingMessage;
}

export interface HttpRequest {
  agent: http.Agent;
  url: URL;
  method: 'GET' | 'POST' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
  /** The request is given up when any of them is aborted. */
  signals: readonly AbortSignal[];
  /** The whole request has been handed to the system: the server may have it. */
  onSent?: (() => void) | undefined;
}

/**
 * One HTTP request on kept-alive connections. Plain `node:http`: several times cheaper than the global `fetch` here,
 * and it leaves no listener on a long-lived signal. A same-origin redirect that keeps the method is followed once.
 */
export async function httpRequest(request: HttpRequest): Promise<HttpAnswer> {
  const answer = await requestOnce(request);
  const { location } = answer.headers;
  if (location === undefined || (answer.status !== 307 && answer.status !== 308)) return answer;
  const url = new URL(location, request.url);
  if (url.origin !== request.url.origin) return answer;
  answer.body.resume();
  return requestOnce({ ...request, url });
}

async function requestOnce(options: HttpRequest): Promise<HttpAnswer> {
  const { agent, url, method, headers, body, signals, onSent } = options;
  return new Promise((resolve, reject) => {
    if (signals.some(({ aborted }) => aborted)) {
      reject(new Error('aborted'));
      return;
    }
    const request = (url.protocol === 'https:' ? https : http).request(url, {
      method,
      agent,
      headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
    });
    const abort = (): void => {
      reject(new Error('aborted'));
      // Without an error: a socket that is just returning to the agent has no listener for it.
      request.destroy();
    };
    // By hand: with AbortSignal.any a long-lived signal would remember every request.
    for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
    request.once('close', () => {
      for (const signal of signals) signal.removeEventListener('abort', abort);
    });
    if (onSent) request.once('finish', onSent);
    request.on('error', reject);
    const answered = (response: http.IncomingMessage): void =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    request.once('response', answered);
    // An unsolicited upgrade (101). Without this listener Node would close the connection without an error.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      answered(response);
    });
    request.end(body);
  });
}

/** The body as text. */
export async function readText(body: http.IncomingMessage, limit: MessageLimit): Promise<string> {
  body.setEncoding('utf8');
  const refuse = (): void => void body.destroy(new Error(`the server's answer is ${counter.mistake}`));
  const counter = limit.counter(refuse);
  return new Promise<string>((resolve, reject) => {
    let text = '';
    body.on('data', (chunk: string) => {
      if (counter.add(chunk.length)) text += chunk;
      else refuse();
    });
    body.on('end', () => resolve(text));
    body.on('error', reject);
    body.on('close', () => reject(new Error('the connection broke in the middle of the answer')));
  }).finally(() => counter.reset());
}
