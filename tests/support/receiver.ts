/** A real HTTP server that receives notifications. The test says what it answers, and owns it. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defer } from './owned.ts';
import type { Json } from './hub.ts';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: Json;
}

/** A status, or what to do with the response; `hang` never answers, `reset` cuts the connection. */
export type Reply = number | 'hang' | 'reset' | ((res: ServerResponse) => void);

export class Receiver {
  readonly received: Received[] = [];
  /** For the next requests; then 200. */
  replies: Reply[] = [];
  /** For all requests. */
  always: Reply | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((req, res) => {
      let text = '';
      req.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      req.on('end', () => {
        this.received.push({ path: req.url ?? '', headers: req.headers, text, body: JSON.parse(text) as Json });
        answer(res, this.always ?? this.replies.shift() ?? 200);
      });
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    defer(async () => {
      receiver.#server.closeAllConnections();
      await new Promise((resolve) => {
        receiver.#server.close(resolve);
      });
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

function answer(res: ServerResponse, reply: Reply): void {
  if (typeof reply === 'function') reply(res);
  else if (reply === 'reset') res.socket?.resetAndDestroy();
  else if (reply !== 'hang') res.writeHead(reply).end('{}');
}
