/** What comes on a stream by hand, message by message. */
import { expect } from 'vitest';
import type { Json } from '../../support/hub.ts';
import type { RawStream } from '../../support/raw-http.ts';
import { resultIn, type Answered, type Failure } from './answered.ts';

export class MessageStream {
  readonly raw: RawStream;

  constructor(raw: RawStream) {
    this.raw = raw;
  }

  get messages(): Json[] {
    return this.raw.events.flatMap(({ data }) => (data === '' ? [] : [JSON.parse(data) as Json]));
  }

  /** The parameters of all notifications by that name so far. */
  told(method: string): Json[] {
    const named = this.messages.filter((message) => message['method'] === method);
    return named.map(({ params }) => (params ?? {}) as Json);
  }

  /** The first message by that name, once it is there. */
  async heard(method: string, timeout = 10_000): Promise<Json> {
    const find = (): Json | undefined => this.messages.find((message) => message['method'] === method);
    await expect.poll(find, { timeout, interval: 20 }).toBeDefined();
    return find() ?? {};
  }

  /** What the request ends with. */
  async answered(): Promise<Answered> {
    await this.raw.ended;
    const last = this.messages.findLast((message) => !('method' in message)) ?? {};
    return { status: this.raw.status, ...(last as { result?: Json; error?: Failure }) };
  }

  async result(): Promise<Json> {
    return resultIn(await this.answered());
  }

  /** Breaks the connection. */
  drop(): void {
    this.raw.destroy();
  }
}
