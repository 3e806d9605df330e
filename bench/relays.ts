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

const [kind = '', backend = ''] = process.argv.slice(2);
const SESSION = 'mcp-session-id';

/** Parses a message and writes it again, as every relay that looks at messages has to. */
const passed = (body: string): string => (body === '' ? '' : JSON.stringify(JSON.parse(body)));

/** The headers that the other side must see. */
function kept(headers: IncomingMessage['headers']): Record<string, string> {
  const names = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', SESSION];
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

/** Writes a response in one piece. */
function respond(res: ServerResponse, status: number, headers: Record<string, string>, body: string): void {
  res.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) }).end(body);
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
  return httpFront((path, headers, body, res) => {
    const options = { method: 'POST', agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } };
    const behind = request(new URL(path, backend), options, (answer) => {
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

/** One HTTP message of a connection: its first line and headers, and its body. */
interface RawMessage {
  head: string;
  body: string;
}

/** What follows a head without a length: no body, in chunks. */
const NO_CHUNKS = '0\r\n\r\n';

/** Cuts what arrives into messages. Bodies have a length: the load and the backend send no others. */
function messagesOf(socket: Socket, onMessage: (message: RawMessage) => void): void {
  let pending = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (;;) {
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = pending.slice(0, end);
      const stated = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      const inChunks = stated === undefined && head.toLowerCase().includes('\r\ntransfer-encoding: chunked');
      const length = inChunks ? NO_CHUNKS.length : Number(stated ?? 0);
      if (pending.length < end + 4 + length) return;
      const body = inChunks ? '' : pending.slice(end + 4, end + 4 + length);
      pending = pending.slice(end + 4 + length);
      onMessage({ head, body });
    }
  });
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
  const waiting = new Map<Socket, (answer: RawMessage) => void>();
  const behind = (): Socket => {
    const free = idle.pop();
    if (free !== undefined) return free;
    const socket = connect(Number(port), hostname).setNoDelay();
    messagesOf(socket, (answer) => {
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
    messagesOf(front, ({ head, body }) => {
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
