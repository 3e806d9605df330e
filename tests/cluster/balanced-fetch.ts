/** Sends each request of an SDK's client to another gateway, and some of them again, as a client or a balancer may. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Target } from '../crash/client.ts';
import { object, parsed } from '../crash/told.ts';
import type { Fetch } from '../e2e/direct/matrix/client.ts';

export interface BalancedOptions {
  target: Target;
  token: string;
  /** Told what was sent where, and what came of it, to be read by people. */
  onTried: (line: string) => void;
  /** A response stream that nobody can resume broke before the reply was there, or an answer was lost on its way. */
  onBroken: () => void;
}

/** Nothing comes of sending these twice. */
const REPEATABLE = new Set([
  'initialize',
  'server/discover',
  'notifications/initialized',
  'ping',
  'tools/list',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
]);
/** The gateway that had the request was lost. */
const LOST = /was lost while this request was open/;
const RETRY_MS = 50;
const PATIENCE_MS = 30_000;
const MODERN = '2026-07-28';

export function balancedFetch({ target, token, onTried, onBroken }: BalancedOptions): Fetch {
  return async (_url, init = {}) => {
    const message = object(parsed(init.body));
    const { method = init.method } = message as { method?: string };
    const isAnswer = 'result' in message || 'error' in message;
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    const isModern = headers.get('mcp-protocol-version') === MODERN;
    const mayRepeat = REPEATABLE.has(method ?? '') || method === 'GET';
    for (const begun = Date.now(); ; await delay(RETRY_MS)) {
      const isLast = Date.now() - begun > PATIENCE_MS;
      try {
        const { url } = target;
        const what = typeof init.body === 'string' ? init.body : (headers.get('last-event-id') ?? '');
        const sent = `${method} ${what} to ${url}`;
        const response = await fetch(url, { ...init, headers }).catch((error: unknown) => {
          onTried(`${sent}: ${String(error)}`);
          throw error;
        });
        onTried(`${sent}: ${response.status} ${response.headers.get('content-type')}`);
        if (!isLast && (await maySendAgain(response, mayRepeat))) continue;
        if (!isModern) return response;
        return mayRepeat ? await whole(response) : watched(response, onBroken);
      } catch (error) {
        if (!isLast && !init.signal?.aborted && (mayRepeat || wasRefused(error))) continue;
        // The clients of the SDK do not repeat an answer, and wait for the result of their call for ever.
        if (isAnswer) onBroken();
        throw error;
      }
    }
  };
}

/** A gateway that cannot serve the request now says so. Where it names the call or its task, that was made all the same. */
async function maySendAgain(response: Response, mayRepeat: boolean): Promise<boolean> {
  if (mayRepeat && [502, 504].includes(response.status)) return true;
  if (!response.headers.get('content-type')?.startsWith('application/json')) return response.status === 503;
  const { message, data: given } = object(parsed(await response.clone().text())?.['error']);
  const data = object(given);
  if (mayRepeat && typeof message === 'string' && LOST.test(message)) return true;
  if ('task' in data || 'tool' in data) return false;
  return response.status === 503 || data['code'] === 'TOOL_ERR_SHUTTING_DOWN';
}

function wasRefused(error: unknown): boolean {
  return object(object(error)['cause'])['code'] === 'ECONNREFUSED';
}

/** Fails here if it is not all there. */
async function whole(response: Response): Promise<Response> {
  const text = await response.text();
  return new Response(text === '' ? null : text, { status: response.status, headers: response.headers });
}

function watched(response: Response, onBroken: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onBroken();
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
