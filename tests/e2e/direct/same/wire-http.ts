import { request, type ClientRequest, type RequestOptions } from 'node:http';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Era, Json } from '../../../servers/rich/wire.ts';
import { JSON_HEADERS, post } from '../../../support/raw-http.ts';
import type { Said, Wire } from './wire-client.ts';

/** The parameter that names what a method is about. */
const NAMED_BY: Record<string, string> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

export function httpWire(url: string, era: Era, hear: (said: Said) => void): Wire {
  let session: Record<string, string> = {};
  const streams: ClientRequest[] = [];
  const headersOf = (message: Json): Record<string, string> =>
    era === 'legacy' ? session : { 'mcp-protocol-version': '2026-07-28', ...repeated(message) };

  const listenTo = async (method: string, headers: Record<string, string>, body?: string): Promise<ClientRequest> => {
    const stream = await openStream(url, { method, headers }, body, (message) => hear({ scope: 'standing', message }));
    streams.push(stream);
    return stream;
  };

  return {
    request: async (message) => {
      const { headers, text } = await post(url, message, headersOf(message));
      if (era === 'legacy' && typeof headers['mcp-session-id'] === 'string') {
        session = { 'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': '2025-11-25' };
      }
      const messages = messagesIn(text);
      const answer = messages.find((each) => !('method' in each));
      for (const each of messages) if ('method' in each) hear({ scope: 'request', message: each, on: message['id'] });
      if (answer === undefined) throw new Error(`no answer to ${JSON.stringify(message)} in: ${text.slice(0, 300)}`);
      return answer;
    },
    notify: async (message) => {
      const { status, text } = await post(url, message, headersOf(message));
      if (status !== 202) throw new Error(`HTTP ${status} for a notification: ${text.slice(0, 300)}`);
    },
    listen: async (message) => {
      const stream = await listenTo('POST', { ...JSON_HEADERS, ...headersOf(message) }, JSON.stringify(message));
      return { end: async () => void stream.destroy() };
    },
    stand: async () => void (await listenTo('GET', { accept: 'text/event-stream', ...session })),
    close: async () => {
      for (const stream of streams) stream.destroy();
    },
  };
}

/** Headers that repeat what the body of a request of the new era says. */
function repeated({ method, params = {} }: Json): Record<string, string> {
  const named = (params as Json)[NAMED_BY[String(method)] ?? ''];
  const { region } = ((params as Json)['arguments'] ?? {}) as { region?: string };
  return {
    'mcp-method': String(method),
    ...(typeof named === 'string' && { 'mcp-name': headerValue(named) }),
    ...(region !== undefined && { 'mcp-param-region': headerValue(region) }),
  };
}

function headerValue(value: string): string {
  return /^[\x21-\x7e]+$/.test(value) ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function messagesIn(text: string): Json[] {
  if (text.trimStart().startsWith('{')) return [JSON.parse(text) as Json];
  const messages: Json[] = [];
  eventsTo((message) => messages.push(message)).feed(text);
  return messages;
}

/** Resolves when the stream has begun. */
async function openStream(
  url: string,
  options: RequestOptions,
  body: string | undefined,
  onMessage: (message: Json) => void,
): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent: false }, (response) => {
      const { statusCode } = response;
      if (statusCode !== 200) {
        reject(new Error(`HTTP ${statusCode} for a stream`));
        return;
      }
      const parser = eventsTo(onMessage);
      response.setEncoding('utf8').on('data', (chunk: string) => parser.feed(chunk));
      // It ends when this side wants it to.
      response.on('error', () => {});
      resolve(sent);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function eventsTo(onMessage: (message: Json) => void): EventSourceParser {
  return createParser({
    onEvent: ({ data }) => {
      if (data !== '') onMessage(JSON.parse(data) as Json);
    },
  });
}
