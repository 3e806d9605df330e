/** One request to the endpoint of a model: in time, of limited size, and again where that may help. */

import { ModelRefused } from '../core/ports/models.ts';
import { whenAborted } from '../lib/abort.ts';
import { backoffDelay } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { parseExact, stringifyExact } from '../lib/exact-json.ts';
import { messageOf } from '../lib/log.ts';
import { shortenText } from '../lib/shorten.ts';
import { timeoutSignal } from '../lib/timers.ts';
import { isObject } from '../lib/values.ts';

export interface Post {
  url: string;
  headers: Record<string, string>;
  body: unknown;
  /** Never shown. */
  key: string | undefined;
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal;
  clock: Clock;
}

/** An overloaded endpoint is asked so often. */
const ATTEMPTS = 3;

const BACKOFF = { firstMs: 1000, factor: 2, maxMs: 10_000 };

/** How much of an endpoint's error is shown. */
export const SHOWN_CHARS = 300;

/** The JSON object that the endpoint answers with. */
export async function postJson(post: Post): Promise<Record<string, unknown>> {
  const { timeoutMs, clock } = post;
  const { signal: late, cancel } = timeoutSignal(timeoutMs, clock);
  try {
    return await untilTaken({ ...post, signal: AbortSignal.any([post.signal, late]) }, clock.now() + timeoutMs);
  } catch (error) {
    if (late.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
    throw error;
  } finally {
    cancel();
  }
}

async function untilTaken(post: Post, deadline: number): Promise<Record<string, unknown>> {
  const { clock, signal } = post;
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(post);
    const text = await readText(response, post.maxBytes);
    if (response.ok) return parsed(text, post.key);
    const passes = response.status === 429 || response.status >= 500;
    const waitMs = retryAfterMs(response, clock.now()) ?? backoffDelay(attempt, BACKOFF);
    if (!passes || attempt === ATTEMPTS || clock.now() + waitMs >= deadline) throw refusal(response, text, post.key);
    await pause(waitMs, clock, signal);
  }
}

async function send({ url, headers, body, key, signal }: Post): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: stringifyExact(body),
      // The key is for this endpoint only.
      redirect: 'error',
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    // `fetch failed` alone is not helpful.
    const { cause } = error as Error;
    throw new ModelRefused(`its endpoint cannot be reached: ${masked(messageOf(cause ?? error), key)}`, {
      cause: error,
    });
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the response.
    if (bytes > maxBytes) throw new Error(`its response is larger than limits.messageBytes = ${maxBytes}`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string, key: string | undefined): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new Error(`its response is not a JSON object: ${shortenText(masked(text, key), SHOWN_CHARS)}`);
}

/** Thrown when the key is refused. What the endpoint says then may contain a part of the key. */
export class KeyRefused extends ModelRefused {}

function refusal({ status }: Response, text: string, key: string | undefined): ModelRefused {
  if (status === 401 || status === 403) return new KeyRefused(`HTTP ${status}`);
  const shown = shortenText(masked(messageIn(text), key), SHOWN_CHARS);
  return new ModelRefused(`its endpoint answered with HTTP ${status}${shown === '' ? '' : `: ${shown}`}`);
}

/** A text of others without the key. Before it is shortened: half a key would not be found. */
export function masked(text: string, key: string | undefined): string {
  return key === undefined ? text : text.replaceAll(key, '***');
}

/** Both formats have `{"error": {"message"}}`. */
function messageIn(text: string): string {
  try {
    const value = parseExact(text);
    const { error, message } = isObject(value) ? value : {};
    const said = isObject(error) ? error['message'] : (error ?? message);
    return typeof said === 'string' ? said : text;
  } catch {
    return text;
  }
}

/** Seconds, or a date. */
function retryAfterMs({ headers }: Response, now: number): number | undefined {
  const said = headers.get('retry-after');
  if (said === null) return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(said) ? Number(said) * 1000 : Date.parse(said) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

async function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  let stop = (): void => {};
  await new Promise<void>((resolve) => {
    const cancel = clock.after(ms, resolve);
    const forget = whenAborted(signal, resolve);
    stop = () => {
      cancel();
      forget();
    };
  }).finally(() => stop());
  signal.throwIfAborted();
}
