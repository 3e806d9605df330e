/** A person at the console of a gateway, as a browser would act for them; or a program with a token. */
// Before the first test, which would have to wait for it otherwise.
// oxlint-disable-next-line import/no-unassigned-import -- only loaded
import '../../src/north/console/console.ts';
import { request } from 'node:http';
import { createParser } from 'eventsource-parser';
import { expect, vi } from 'vitest';
import { defer } from './owned.ts';
import type { Json } from './hub.ts';

export interface ConsoleReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: Json;
}

export interface Raw {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Gateway {
  url: string;
  console: { url: string; key: string };
}

/** With any headers, also those that `fetch` does not let anyone set. */
export async function raw(gateway: Pick<Gateway, 'url'>, path: string, given: Raw = {}): Promise<ConsoleReply> {
  const { method = 'GET', headers = {}, body } = given;
  const content = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, gateway.url), { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = response.headers['content-type'] === 'application/json';
        const parsed = isJson ? (JSON.parse(text) as Json) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed });
      });
    });
    sent.on('error', reject);
    sent.end(content);
  });
}

export const JSON_HEADERS = { 'content-type': 'application/json' };

export type SignedIn = Record<'cookie' | 'meanwhile-console', string>;

/** The headers of somebody who signs in with this key or token. */
export async function signIn(gateway: Gateway, key = gateway.console.key): Promise<SignedIn> {
  const { status, headers, text, body } = await raw(gateway, '/console/sign-in', {
    method: 'POST',
    headers: JSON_HEADERS,
    body: { key },
  });
  expect(status, text).toBe(200);
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0] ?? '', 'meanwhile-console': String(body['pageKey']) };
}

export interface Item extends Json {
  id: string;
}

/** Somebody who has signed in. */
export class ConsolePerson {
  readonly gateway: Gateway;
  readonly headers: Record<string, string>;

  constructor(gateway: Gateway, headers: Record<string, string>) {
    this.gateway = gateway;
    this.headers = headers;
  }

  async get(path: string): Promise<ConsoleReply> {
    return raw(this.gateway, `/api/v1${path}`, { headers: this.headers });
  }

  async post(path: string, body: unknown = {}): Promise<ConsoleReply> {
    return raw(this.gateway, `/api/v1${path}`, {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...this.headers },
      body,
    });
  }

  async items(path: string): Promise<Item[]> {
    const { status, body, text } = await this.get(path);
    expect(status, text).toBe(200);
    return body['items'] as Item[];
  }

  /** The items, once there are so many. */
  async waitFor(path: string, count = 1): Promise<Item[]> {
    return vi.waitFor(
      async () => {
        const items = await this.items(path);
        expect(items).toHaveLength(count);
        return items;
      },
      { timeout: 10_000 },
    );
  }

  /** The only item, once there is one. */
  async one(path: string): Promise<Item> {
    const [item] = await this.waitFor(path);
    if (item === undefined) throw new Error('there is none');
    return item;
  }

  async events(after?: string): Promise<ConsoleEvents> {
    return ConsoleEvents.open(this, after);
  }
}

export async function atConsole(gateway: Gateway, key?: string): Promise<ConsolePerson> {
  return new ConsolePerson(gateway, await signIn(gateway, key));
}

export function withToken(gateway: Gateway, token: string): ConsolePerson {
  return new ConsolePerson(gateway, { authorization: `Bearer ${token}` });
}

export interface ConsoleEvent {
  id: string | undefined;
  event: string;
  data: Json;
}

/** The stream of events. */
export class ConsoleEvents {
  readonly events: ConsoleEvent[] = [];
  closed = false;
  readonly #stop = new AbortController();

  static async open({ gateway, headers }: ConsolePerson, after?: string): Promise<ConsoleEvents> {
    const stream = new ConsoleEvents();
    const response = await fetch(new URL('/api/v1/events', gateway.url), {
      headers: { ...headers, ...(after !== undefined && { 'last-event-id': after }) },
      signal: stream.#stop.signal,
    });
    expect(response.status).toBe(200);
    defer(async () => stream.close());
    void stream.#read(response);
    await stream.next('hello');
    return stream;
  }

  async #read(response: Response): Promise<void> {
    const parser = createParser({
      onEvent: ({ id, event = 'message', data }) => this.events.push({ id, event, data: JSON.parse(data) as Json }),
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    } catch {
      // The test has closed it, or the gateway is gone.
    }
    this.closed = true;
  }

  close(): void {
    this.#stop.abort();
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  of(event: string): Json[] {
    return this.events.filter((each) => each.event === event).map(({ data }) => data);
  }

  /** The first event of that kind that matches, once it is there. */
  async next(event: string, matching: (data: Json) => boolean = () => true): Promise<Json> {
    return vi.waitFor(
      () => {
        const found = this.of(event).find(matching);
        expect(found, `no such ${event} in ${JSON.stringify(this.events)}`).toBeDefined();
        return found as Json;
      },
      { timeout: 10_000 },
    );
  }
}

/** The code of an error of the API. */
export function codeOf({ body }: ConsoleReply): unknown {
  return (body['error'] as Json | undefined)?.['code'];
}

/** Of two answers at the same time: the one that counted, and the one that came too late. */
export function wonAndLost(replies: ConsoleReply[]): [won: ConsoleReply, lost: ConsoleReply] {
  const [won, lost, ...others] = replies.toSorted((one, other) => one.status - other.status);
  expect([won?.status, lost?.status, others]).toEqual([200, 409, []]);
  return [won as ConsoleReply, lost as ConsoleReply];
}
