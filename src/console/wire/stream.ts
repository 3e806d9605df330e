/** The stream of changes: read with `fetch`, resumed where it broke, retried with growing delays. */

import { createParser } from 'eventsource-parser';
import { parseExact } from '../../lib/exact-json.ts';
import { API } from './api.ts';
import { pageKeyHeader } from './page-key.ts';

export type StreamState =
  | { state: 'connecting' }
  | { state: 'live' }
  /** Since when, and when the next attempt is made. */
  | { state: 'lost'; since: number; retryAt: number };

export interface StreamListener {
  onEvent(type: string, item: unknown): void;
  onState(state: StreamState): void;
  /** The stream is open; `resumed` if it continues where the last one ended. */
  onOpen(resumed: boolean): void;
  onSignedOut(): void;
}

/** The gateway sends at least a comment every 15 seconds. */
const SILENCE_MS = 40_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [500, 15_000];

export class EventStream {
  readonly #listener: StreamListener;
  #lastId: string | undefined;
  #failures = 0;
  #lostSince: number | undefined;
  #reading: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(listener: StreamListener) {
    this.#listener = listener;
  }

  start(): void {
    this.#listener.onState({ state: 'connecting' });
    void this.#read();
  }

  /** Does not wait for the end of the pause. */
  retryNow(): void {
    if (this.#closed || this.#reading !== undefined) return;
    clearTimeout(this.#timer);
    void this.#read();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#reading?.abort();
  }

  async #read(): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    try {
      await this.#readOnce(reading);
    } catch {
      // However it ended, the next attempt shows whether the gateway is reachable.
    } finally {
      clearTimeout(this.#timer);
      this.#reading = undefined;
    }
    if (!this.#closed) this.#pause();
  }

  async #readOnce(reading: AbortController): Promise<void> {
    const headers: Record<string, string> = { Accept: 'text/event-stream', ...pageKeyHeader() };
    if (this.#lastId !== undefined) headers['Last-Event-ID'] = this.#lastId;
    this.#expectBytes(reading);
    const response = await fetch(`${API}/events`, { headers, credentials: 'same-origin', signal: reading.signal });
    if (response.status === 401) {
      this.close();
      this.#listener.onSignedOut();
      return;
    }
    if (!response.ok || response.body === null) return;
    const resumed = this.#lastId !== undefined;
    this.#failures = 0;
    this.#lostSince = undefined;
    this.#listener.onState({ state: 'live' });
    this.#listener.onOpen(resumed);
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        this.#listener.onEvent(event ?? 'message', parseExact(data));
        if (id !== undefined) this.#lastId = id;
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#closed) return;
      this.#expectBytes(reading);
      parser.feed(decoder.decode(value, { stream: true }));
    }
  }

  /** A silent connection counts as dead: after sleep, a computer does not notice its end. */
  #expectBytes(reading: AbortController): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => reading.abort(), SILENCE_MS);
  }

  #pause(): void {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures) * (0.8 + Math.random() * 0.4);
    this.#failures += 1;
    this.#lostSince ??= Date.now();
    this.#listener.onState({ state: 'lost', since: this.#lostSince, retryAt: Date.now() + pause });
    this.#timer = setTimeout(() => void this.#read(), pause);
  }
}
