import type { Agent } from 'node:http';
import { SSEClientTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from '../../core/ports.ts';
import type { AddressCheck } from '../../lib/addresses.ts';
import { Hello } from './hello.ts';
import { fetchThrough } from './http-fetch.ts';
import { keepAliveAgent } from './http-request.ts';

/** The HTTP transport of 2024: one stream for all that the server says. */
export class SseTransport extends SSEClientTransport {
  readonly hello = new Hello();

  readonly #agent: Agent;

  constructor(config: HttpServerConfig, isAllowed?: AddressCheck) {
    const { address, headers } = withoutCredentials(config);
    const agent = keepAliveAgent(address, isAllowed);
    super(address, { requestInit: { headers }, fetch: fetchThrough(agent) });
    this.#agent = agent;
    // Whoever connects it comes after.
    this.onmessage = (message) => this.hello.received(message);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    this.hello.sent(message);
    await super.send(message);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#agent.destroy();
  }
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
