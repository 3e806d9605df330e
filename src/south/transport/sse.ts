import { SSEClientTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from '../../core/ports.ts';
import { Hello } from './hello.ts';

/** The HTTP transport of 2024: one stream for all that the server says. */
export class SseTransport extends SSEClientTransport {
  readonly hello = new Hello();

  constructor(config: HttpServerConfig) {
    const { address, headers } = withoutCredentials(config);
    super(address, { requestInit: { headers } });
    // Whoever connects it comes after.
    this.onmessage = (message) => this.hello.received(message);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    this.hello.sent(message);
    await super.send(message);
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
