/** A gateway that answers requests for its API as the test says: for what a real one does rarely, or never. The test owns it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defer } from '../../../support/owned.ts';

export interface Asked {
  method: string;
  /** Without `/api/v1/`, with its query. */
  path: string;
  body: unknown;
  authorization: string | undefined;
}

type Reply = { status?: number; body: unknown } | 'drop';

export class ScriptedApi {
  readonly asked: Asked[] = [];
  readonly url: string;
  /** By method and path; the last one stays. */
  readonly replies = new Map<string, Reply[]>();
  readonly #streams = new Set<ServerResponse>();

  constructor(url: string) {
    this.url = url;
    this.reply('GET me', {
      principal: 'ann',
      operator: true,
      gateway: { version: '9.9.9', startedAt: Date.now() },
      history: { keepMs: 86_400_000 },
    });
    for (const path of ['questions', 'calls', 'servers', 'sessions']) this.reply(`GET ${path}`, { items: [] });
  }

  static async start(): Promise<ScriptedApi> {
    const server = createServer((req, res) => void api.#handle(req, res)).listen(0, '127.0.0.1');
    await new Promise((resolve) => {
      server.once('listening', resolve);
    });
    const api = new ScriptedApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    defer(
      async () =>
        new Promise((resolve) => {
          server.closeAllConnections();
          server.close(resolve);
        }),
    );
    return api;
  }

  /** How the command finds it. */
  get flags(): string[] {
    return ['--url', this.url, '--token', 'a-token'];
  }

  reply(request: string, body: unknown, status = 200): void {
    this.replies.set(request, [{ status, body }]);
  }

  /** One after the other. */
  script(request: string, ...replies: Reply[]): void {
    this.replies.set(request, replies);
  }

  send(event: string, data: unknown, id?: number): void {
    const text = `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.#streams) stream.write(text);
  }

  get listeners(): number {
    return this.#streams.size;
  }

  loseStreams(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const method = req.method ?? '';
    const path = (req.url ?? '').replace('/api/v1/', '');
    const { authorization } = req.headers;
    this.asked.push({ method, path, body: text === '' ? undefined : JSON.parse(text), authorization });
    if (path.startsWith('events')) {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      this.#streams.add(res);
      res.once('close', () => this.#streams.delete(res));
      return;
    }
    const replies = this.replies.get(`${method} ${path.split('?')[0]}`) ?? [{ status: 404, body: 'nothing here' }];
    const reply = (replies.length > 1 ? replies.shift() : replies[0]) ?? 'drop';
    if (reply === 'drop') {
      res.destroy();
      return;
    }
    res.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
  }
}

/** An open question with a form. */
export function formQuestion(id: string, properties: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const message = `What about ${id}?`;
  return {
    id,
    seq: 1,
    kind: 'elicitation',
    mode: 'form',
    status: 'open',
    server: 'shop',
    tool: 'order',
    sessionId: 's',
    principal: 'ann',
    program: 'test',
    createdAt: Date.now() - 65_000,
    expiresAt: Date.now() + 3_600_000,
    message,
    params: { message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } },
    ...more,
  };
}
