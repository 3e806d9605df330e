/** A client by hand, of either era, over HTTP or stdio: what it was told, it shows as it came. The test owns it. */
import type { Socket } from 'node:net';
import type { Era, Json } from '../../../servers/rich/wire.ts';
import { META } from '../../../servers/rich/wire.ts';
import { httpWire } from './wire-http.ts';
import { stdioWire } from './wire-stdio.ts';

export type Transport = 'HTTP' | 'stdio';

/** Where a server, or the gateway in front of it, is to be found. */
export type Place =
  | { readonly url: string }
  | { readonly command: string; args: string[]; env: Record<string, string> }
  | { readonly socket: Socket };

/** Something that was not an answer. */
export interface Said {
  /** Whether it came on the stream of the client's request or on the standing one; on stdio there is only one. */
  readonly scope: 'request' | 'standing' | 'only';
  readonly message: Json;
  /** The request on whose stream it came. */
  readonly on?: unknown;
}

/** How messages travel; one of four. */
export interface Wire {
  /** Resolves with the answer, all of it. */
  request(message: Json): Promise<Json>;
  notify(message: Json): Promise<void>;
  /** A request that goes on telling; resolves when it is under way. */
  listen(message: Json): Promise<{ end(): Promise<void> }>;
  /** After the first answer: makes ready for what comes unasked. */
  stand(): Promise<void>;
  close(): Promise<void>;
}

export interface WireClient {
  readonly era: Era;
  readonly transport: Transport;
  readonly said: Said[];
  hello(): Promise<Json>;
  request(id: string, method: string, params: Json): Promise<Json>;
  notify(method: string, params: Json): Promise<void>;
  listen(id: number, notifications: Json): Promise<void>;
  /** Ends the listening. */
  hangUp(): Promise<void>;
  close(): Promise<void>;
}

export const CLIENT_INFO = { name: 'by-hand', version: '0.0.1', title: 'By hand ✓', 'x-client': 1 };
export const CLIENT_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  experimental: { 'com.example/client': { a: 1 } },
};

/** To what only vendors ask. */
const ANSWER = { 'x-answer': 'of the client' };

const ENVELOPE = {
  [META.protocolVersion]: '2026-07-28',
  [META.clientInfo]: CLIENT_INFO,
  [META.clientCapabilities]: CLIENT_CAPABILITIES,
};

export async function connect(era: Era, place: Place): Promise<WireClient> {
  const said: Said[] = [];
  const hear = (one: Said): void => {
    said.push(one);
    const { id, method } = one.message;
    if (method === 'vendor/question') void wire.notify({ jsonrpc: '2.0', id, result: ANSWER });
  };
  const wire: Wire = 'url' in place ? httpWire(place.url, era, hear) : stdioWire(place, hear);
  const enveloped = (params: Json): Json =>
    era === 'legacy' ? params : { ...params, _meta: { ...ENVELOPE, ...(params['_meta'] as Json | undefined) } };
  const request = async (id: string, method: string, params: Json): Promise<Json> =>
    withoutFrame(id, await wire.request({ jsonrpc: '2.0', id, method, params: enveloped(params) }));
  const notify = async (method: string, params: Json): Promise<void> => wire.notify({ jsonrpc: '2.0', method, params });
  let listening: { end(): Promise<void> } | undefined;

  return {
    era,
    transport: 'url' in place ? 'HTTP' : 'stdio',
    said,
    hello: async () => {
      if (era === 'modern') return request('hello', 'server/discover', {});
      const reply = await request('hello', 'initialize', {
        protocolVersion: '2025-11-25',
        clientInfo: CLIENT_INFO,
        capabilities: CLIENT_CAPABILITIES,
      });
      await notify('notifications/initialized', {});
      await wire.stand();
      return reply;
    },
    request,
    notify,
    listen: async (id, notifications) => {
      const params = enveloped({ notifications });
      listening = await wire.listen({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params });
    },
    hangUp: async () => listening?.end(),
    close: () => wire.close(),
  };
}

/** What there is besides the frame of every answer is kept: it should not be there. */
function withoutFrame(id: string, { jsonrpc, id: answered, ...rest }: Json): Json {
  if (jsonrpc !== '2.0' || answered !== id) {
    throw new Error(`not an answer to '${id}': ${JSON.stringify({ jsonrpc, id: answered, ...rest }).slice(0, 300)}`);
  }
  return rest;
}
