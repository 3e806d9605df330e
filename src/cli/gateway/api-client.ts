/** The API client for a running gateway. */

import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { codeOf, messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { Failure } from '../failure.ts';
import { shownBase } from './address.ts';
import type { Page, Question } from '../../lib/api-items.ts';
import type { GatewayAccess } from './find-gateway.ts';

const TIMEOUT_MS = 15_000;
/** The gateway writes at least a comment every 15 s. */
const SILENCE_MS = 45_000;
/** The gateway's maximum page size. */
const LARGEST_PAGE = 200;

export type Query = Record<string, string | number | undefined>;

interface Listed<T> {
  items: T[];
  /** There are more items than requested. */
  more: boolean;
}

/** The outcome of sending an answer. */
export type Sent =
  | { kind: 'taken'; question: Question }
  /** The question had ended before. */
  | { kind: 'late'; message: string; question: Question | undefined }
  /** The question is still open. */
  | { kind: 'invalid'; message: string; fields: Record<string, string> };

/** The gateway refuses; `status` and `error` are as in its response. */
export class ApiFailure extends Failure {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(message: string, status: number, body: Record<string, unknown>) {
    super('refused', message);
    this.status = status;
    this.body = body;
  }
}

export class ApiClient {
  readonly #find: () => Promise<GatewayAccess>;
  #gateway: GatewayAccess;

  private constructor(gateway: GatewayAccess, find: () => Promise<GatewayAccess>) {
    this.#gateway = gateway;
    this.#find = find;
  }

  static async open(find: () => Promise<GatewayAccess>): Promise<ApiClient> {
    return new ApiClient(await find(), find);
  }

  /** The address of the gateway, for people. */
  get where(): string {
    return shownBase(this.#gateway.base);
  }

  get gateway(): GatewayAccess {
    return this.#gateway;
  }

  /** A restarted gateway has another key, and possibly another port. */
  async lookAgain(): Promise<void> {
    this.#gateway = await this.#find();
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return (await this.#request('GET', withQuery(path, query))) as T;
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return (await this.#request('POST', path, body)) as T;
  }

  /** All pages of a list, or up to `count` items. */
  async list<T>(path: string, query: Query = {}, most: number = Infinity): Promise<Listed<T>> {
    const items: T[] = [];
    let cursor: string | undefined;
    do {
      const limit = Math.min(LARGEST_PAGE, most - items.length);
      const page: Page<T> = await this.get(path, { ...query, limit, cursor });
      items.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined && items.length < most);
    return { items, more: cursor !== undefined };
  }

  async answer(id: string, answer: Record<string, unknown>): Promise<Sent> {
    try {
      const question = await this.post<Question>(`questions/${encodeURIComponent(id)}/answer`, answer);
      return { kind: 'taken', question };
    } catch (error) {
      const sent = error instanceof ApiFailure ? notTaken(error) : undefined;
      if (sent === undefined) throw error;
      return sent;
    }
  }

  /** Resolves once the stream is open. It ends with an error when the connection is lost. */
  async events(after: string | undefined, signal: AbortSignal): Promise<AsyncIterable<EventSourceMessage>> {
    const silence = new Silence(signal);
    const response = await this.#fetch('GET', withQuery('events', { after }), undefined, silence.signal).catch(
      (error: unknown) => {
        silence.close();
        throw error;
      },
    );
    return eventsOf(response, silence);
  }

  async #request(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await this.#fetch(method, path, body, AbortSignal.timeout(TIMEOUT_MS));
    const text = await response.text().catch((error: unknown) => {
      throw this.#unreachable(error);
    });
    try {
      return parseExact(text);
    } catch {
      throw this.#tooOld(response.status);
    }
  }

  /** A response with status 200. */
  async #fetch(method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    const { base, secret } = this.#gateway;
    const response = await fetch(`${base}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret.text}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: stringifyExact(body) }),
      // A token belongs to this address only.
      redirect: 'manual',
      signal,
    }).catch((error: unknown) => {
      throw this.#unreachable(error);
    });
    if (response.ok) return response;
    throw await this.#refusal(response);
  }

  #unreachable(error: unknown): Failure {
    const { cause } = error as Error;
    const code = codeOf(cause);
    const reason = typeof code === 'string' ? code : messageOf(cause ?? error);
    const fix = 'start one with meanwhile serve, or give its address with --url http://HOST:PORT';
    return new Failure('unreachable', `no gateway is reachable at ${this.where} (${reason}); ${fix}`);
  }

  async #refusal(response: Response): Promise<Failure> {
    const { status } = response;
    const body = errorIn(await response.text().catch(() => ''));
    if (body === undefined) return this.#tooOld(status);
    const message = typeof body.error['message'] === 'string' ? body.error['message'] : `HTTP ${status}`;
    return new ApiFailure(status === 401 ? this.#notKnown() : message, status, body);
  }

  #notKnown(): string {
    return this.#gateway.secret.kind === 'token'
      ? `the gateway at ${this.where} does not know this token: give one of its auth.tokens with --token, or in MEANWHILE_TOKEN`
      : `the gateway at ${this.where} does not accept the stored key: it was restarted, or it is another gateway; ` +
          'try again, or give a token with --token';
  }

  #tooOld(status: number): Failure {
    return new Failure(
      'refused',
      `${this.where} has no API for this command (HTTP ${status}): it is not a gateway, or its version is too old; update and ` +
        'restart it',
    );
  }
}

/** The error of the API in a body, if there is one. */
function errorIn(text: string): { error: Record<string, unknown> } | undefined {
  try {
    const body = parseExact(text);
    // The endpoints of MCP have numbers for codes.
    const isOurs = isObject(body) && isObject(body['error']) && typeof body['error']['code'] === 'string';
    return isOurs ? (body as { error: Record<string, unknown> }) : undefined;
  } catch {
    return undefined;
  }
}

function notTaken({ status, message, body }: ApiFailure): Sent | undefined {
  const { error, question } = body;
  if (!isObject(error)) return undefined;
  if (status === 409) {
    return { kind: 'late', message, question: isObject(question) ? (question as unknown as Question) : undefined };
  }
  if (status !== 422) return undefined;
  const fields = isObject(error['fields']) ? Object.entries(error['fields']) : [];
  return { kind: 'invalid', message, fields: Object.fromEntries(fields.map(([name, text]) => [name, String(text)])) };
}

function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

async function* eventsOf(response: Response, silence: Silence): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      silence.heard();
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    silence.close();
  }
}

/** Aborts after a period of silence: a connection may be lost without an error. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly signal: AbortSignal;

  constructor(over: AbortSignal) {
    this.signal = AbortSignal.any([over, this.#controller.signal]);
    this.#timer = setTimeout(
      () => this.#controller.abort(new Error('the gateway sent nothing for a while')),
      SILENCE_MS,
    );
  }

  heard(): void {
    this.#timer.refresh();
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
