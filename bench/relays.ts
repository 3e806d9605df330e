/**
 * The least that a gateway in Node can cost: HTTP in front, HTTP behind, each message parsed and written once each way, and
 * nothing in between. Arguments: the kind of relay, and the origin of the backend. Sends its own origin to its parent.
 *
 * - `sockets`: raw sockets on both sides, as fast as Node can be
 * - `undici`: node:http in front, undici's dispatcher behind: the reference
 * - `http`: node:http on both sides
 */
import { Agent, createServer as createHttpServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createSocketServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Pool } from 'undici';
import { readMessages, type HttpMessage } from './http-messages.ts';

const [kind = '', backend = ''] = process.argv.slice(2);

/** Parses a message and writes it again, as every relay that looks at messages has to. */
const passed = (body: string): string => (body === '' ? '' : JSON.stringify(JSON.parse(body)));

const KEPT = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'];

/** The headers that the other side must see. */
function kept(headers: IncomingMessage['headers']): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of KEPT) {
    const value = headers[name];
    if (typeof value === 'string') found[name] = value;
  }
  return found;
}

/** Writes a response in one piece. */
function respond(res: ServerResponse, status: number, headers: Record<string, string>, body: string): void {
  headers['content-length'] = String(Buffer.byteLength(body));
  res.writeHead(status, headers).end(body);
}

function readAll(stream: IncomingMessage, onEnd: (text: string) => void): void {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
  });
  stream.on('end', () => onEnd(text));
}

function overHttp(): Server {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(backend);
  return httpFront((path, headers, body, res) => {
    headers['content-length'] = String(Buffer.byteLength(body));
    const behind = request({ hostname, port, path, method: 'POST', agent, headers }, (answer) => {
      readAll(answer, (text) => respond(res, answer.statusCode ?? 500, kept(answer.headers), passed(text)));
    });
    behind.on('error', () => res.destroy());
    behind.end(body);
  });
}

function overUndici(): Server {
  const pool = new Pool(backend, { connections: 256, pipelining: 1 });
  return httpFront((path, headers, body, res) => {
    let status = 0;
    let answered: Record<string, string> = {};
    const chunks: Buffer[] = [];
    pool.dispatch(
      { path, method: 'POST', headers, body },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, statusCode, answerHeaders) => {
          status = statusCode;
          answered = kept(answerHeaders);
        },
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd: () => {
          const [only] = chunks;
          const all = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
          respond(res, status, answered, passed(all.toString()));
        },
        onResponseError: () => res.destroy(),
      },
    );
  });
}

function httpFront(
  forward: (path: string, headers: Record<string, string>, body: string, res: ServerResponse) => void,
): Server {
  const server = createHttpServer((req, res) => {
    readAll(req, (body) => {
      if (req.method === 'POST') forward(req.url ?? '/', kept(req.headers), passed(body), res);
      else res.writeHead(405).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  return server;
}

/** The texts of the benchmark are ASCII, so their length is that of their bytes. */
function written(first: string, head: string, body: string): string {
  const session = /\r\nmcp-session-id: ([^\r]*)/i.exec(head)?.[1];
  const version = /\r\nmcp-protocol-version: ([^\r]*)/i.exec(head)?.[1];
  return (
    `${first}\r\nhost: backend\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n` +
    (session === undefined ? '' : `mcp-session-id: ${session}\r\n`) +
    (version === undefined ? '' : `mcp-protocol-version: ${version}\r\n`) +
    `\r\n${body}`
  );
}

function overSockets(): Server {
  const { hostname, port } = new URL(backend);
  const idle: Socket[] = [];
  const waiting = new Map<Socket, (answer: HttpMessage) => void>();
  const behind = (): Socket => {
    const free = idle.pop();
    if (free !== undefined) return free;
    const socket = connect(Number(port), hostname).setNoDelay();
    readMessages(socket, (answer) => {
      const deliver = waiting.get(socket);
      waiting.delete(socket);
      idle.push(socket);
      deliver?.(answer);
    });
    socket.on('error', () => socket.destroy());
    return socket;
  };
  return createSocketServer({ noDelay: true }, (front) => {
    front.on('error', () => front.destroy());
    readMessages(front, ({ head, body }) => {
      const socket = behind();
      waiting.set(socket, (answer) => {
        const first = answer.head.slice(0, answer.head.indexOf('\r\n'));
        front.write(written(first, answer.head, passed(answer.body)), 'latin1');
      });
      socket.write(written(head.slice(0, head.indexOf('\r\n')), head, passed(body)), 'latin1');
    });
  });
}

const RELAYS: Record<string, () => Server> = { sockets: overSockets, undici: overUndici, http: overHttp };

const server = RELAYS[kind]?.();
if (server === undefined) throw new Error(`no relay '${kind}'; there are ${Object.keys(RELAYS).join(', ')}`);
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
