import type { Agent } from 'node:http';
import { SSEClientTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from '../../core/ports.ts';
import type { AddressCheck } from '../../lib/addresses.ts';
import { Hello } from './hello.ts';
import { fetchThrough } from './http-fetch.ts';
import { keepAliveAgent } from './http-request.ts';
import type { MessageLimit } from './message-size.ts';
import { PendingAnswers } from './pending-answers.ts';

const MAX_SOCKETS = 256;
const LF = 10;
const CR = 13;

/** The HTTP transport of 2024: one stream for all that the server says. */
export class SseTransport extends SSEClientTransport {
  readonly hello = new Hello();
  readonly answers = new PendingAnswers();
  readonly #agent: Agent;

  constructor(config: HttpServerConfig, limit: MessageLimit, isAllowed?: AddressCheck) {
    const { address, headers } = withoutCredentials(config);
    const agent = keepAliveAgent(address, MAX_SOCKETS, isAllowed);
    const fetch = fetchThrough(agent);
    super(address, { requestInit: { headers }, fetch: async (url, init) => limited(await fetch(url, init), limit) });
    this.#agent = agent;
    // Whoever connects it comes after.
    this.onmessage = (message) => this.hello.received(message);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    this.hello.sent(message);
    const sending = super.send(message);
    await ('method' in message ? sending : this.answers.track(sending));
  }

  override async close(): Promise<void> {
    await super.close();
    this.#agent.destroy();
  }
}

/** Breaks a stream whose events are too large: the SDK's parser would collect one without end. */
function limited(response: Response, limit: MessageLimit): Response {
  const { body } = response;
  if (body === null) return response;
  const counter = limit.counter();
  let lineIsEmpty = true;
  const checked = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const tooLarge = (): void => {
          counter.reset();
          controller.error(new Error(`an event is ${limit.mistake}`));
        };
        let from = 0;
        for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
          if (lineIsEmpty && chunk.subarray(from, end).every((byte) => byte === CR)) counter.reset();
          else if (!counter.add(end - from + 1)) {
            tooLarge();
            return;
          }
          lineIsEmpty = true;
          from = end + 1;
        }
        const rest = chunk.length - from;
        if (rest > 0 && !counter.add(rest)) {
          tooLarge();
          return;
        }
        lineIsEmpty = rest === 0;
        controller.enqueue(chunk);
      },
      flush: () => counter.reset(),
    }),
  );
  const { status, statusText, headers } = response;
  const copy = new Response(checked, { status, statusText, headers });
  // Relative addresses in the stream are resolved against it, and a copy has none.
  Object.defineProperty(copy, 'url', { value: response.url });
  return copy;
}

/** Takes the credentials out of the URL: `fetch` accepts none there, and quotes them in its error. */
function withoutCredentials({ url, headers = {} }: HttpServerConfig): {
  address: URL;
  headers: Record<string, string>;
} {
  const address = new URL(url);
  const credentials = [address.username, address.password].map(decodeURIComponent).join(':');
  address.username = '';
  address.password = '';
  const sent = new Headers(headers);
  if (credentials !== ':' && !sent.has('authorization')) {
    sent.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  return { address, headers: Object.fromEntries(sent) };
}
