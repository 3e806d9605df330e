import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Rich } from './rich.ts';
import { META, metaOf, type Era, type Json, type Peer, type Visitor } from './rich/wire.ts';
import { answer, header, listen, readJson } from './shared/http-host.ts';

export interface RichHttp {
  readonly url: string;
  close(): Promise<void>;
}

export async function startRichHttp(era: Era): Promise<RichHttp> {
  const rich = new Rich(era);
  const handle = era === 'legacy' ? legacyDoor(rich) : modernDoor(rich);
  const host = await listen({
    port: undefined,
    handle,
    onerror: (error) => console.error(error),
  });
  return { url: `http://127.0.0.1:${host.port}/mcp`, close: () => host.close() };
}

type Door = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Session {
  readonly visitor: Visitor;
  /** The standing stream, or what waits for it. */
  stream: ServerResponse | undefined;
  readonly waiting: Json[];
}

function legacyDoor(rich: Rich): Door {
  const sessions = new Map<string, Session>();

  const open = (): { id: string; session: Session } => {
    const session: Session = {
      visitor: rich.visit((method, params, id) => {
        const message = { ...(id !== undefined && { id }), method, ...(params && { params }) };
        if (session.stream === undefined) session.waiting.push(message);
        else writeEvent(session.stream, message);
      }),
      stream: undefined,
      waiting: [],
    };
    const id = randomUUID();
    sessions.set(id, session);
    return { id, session };
  };

  const stand = (session: Session, request: IncomingMessage, response: ServerResponse): void => {
    session.stream = response;
    beginStream(response);
    for (const message of session.waiting.splice(0)) writeEvent(response, message);
    request.once('close', () => {
      if (session.stream === response) session.stream = undefined;
    });
  };

  return async (request, response) => {
    const body = request.method === 'POST' ? ((await readJson(request)) as Json) : {};
    const given = header(request, 'mcp-session-id');
    if (given === undefined && body['method'] !== 'initialize') return answer(response, 400, 'no session');
    const { id, session } = given === undefined ? open() : { id: given, session: sessions.get(given) };
    if (session === undefined) return answer(response, 404, 'no such session');
    if (request.method === 'GET') return stand(session, request, response);
    if (request.method === 'DELETE') {
      sessions.delete(id);
      rich.leave(session.visitor);
      session.stream?.end();
      response.writeHead(200).end();
      return;
    }
    response.setHeader('mcp-session-id', id);
    serve(rich, session.visitor, request, response, body);
  };
}

/** The parameter that names what a method is about. */
const NAMED_BY: Record<string, string> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

function modernDoor(rich: Rich): Door {
  const visitor = rich.visit(() => {});
  return async (request, response) => {
    if (request.method !== 'POST') return answer(response, 405, 'only POST');
    const body = (await readJson(request)) as Json;
    const mistake = body['id'] === undefined ? undefined : headerMistake(request, body);
    if (mistake === undefined) return serve(rich, visitor, request, response, body);
    respond(response, 400, { id: body['id'], error: { code: -32_020, message: `Header mismatch: ${mistake}` } });
  };
}

/** The header that does not repeat what the body says. */
function headerMistake(request: IncomingMessage, { method, params = {} }: Json): string | undefined {
  const name = (params as Json)[NAMED_BY[String(method)] ?? ''];
  const said: Json = {
    'mcp-protocol-version': metaOf(params as Json)[META.protocolVersion],
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  };
  return Object.entries(said).find(([key, value]) => decoded(header(request, key)) !== value)?.[0];
}

function decoded(value: string | undefined): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? '')?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}

function serve(rich: Rich, visitor: Visitor, request: IncomingMessage, response: ServerResponse, body: Json): void {
  const { id, method, params } = body;
  if (typeof method !== 'string') {
    rich.answered(body);
    response.writeHead(202).end();
  } else if (id === undefined) {
    rich.hear(method, params as Json | undefined);
    response.writeHead(202).end();
  } else {
    const paramHeaders = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => name.startsWith('mcp-param-')),
    );
    const peer = peerOf(rich.era, id, response);
    void rich.handle({ id, method, params: (params ?? {}) as Json, paramHeaders }, peer, visitor);
  }
}

/** What is said before the answer makes the response a stream. */
function peerOf(era: Era, id: unknown, response: ServerResponse): Peer {
  const end = (status: number, message: Json): void => {
    if (!response.headersSent) return respond(response, status, message);
    writeEvent(response, message);
    response.end();
  };
  return {
    reply: (result) => end(200, { id, result }),
    fail: (error) => end(era === 'modern' ? statusOf(error.code) : 200, { id, error }),
    say: (method, params) => {
      if (!response.headersSent) beginStream(response);
      writeEvent(response, { method, ...(params && { params }) });
    },
    onGone: (callback) => void response.once('close', callback),
  };
}

/** As the new era wants it. */
function statusOf(code: number): number {
  if (code === -32_601) return 404;
  return code === -32_021 ? 400 : 200;
}

function respond(response: ServerResponse, status: number, message: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

function writeEvent(response: ServerResponse, message: Json): void {
  response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}
