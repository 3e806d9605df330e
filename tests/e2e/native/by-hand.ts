/** Servers by hand: each test writes down what its server does, message by message. The test owns them. */
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ServerResponse } from 'node:http';
import { listen, readJson, type HttpHost } from '../../servers/shared/http-host.ts';
import type { CommandServerConfig, HttpServerConfig } from '../../../src/core/ports/server-config.ts';
import { defer } from '../../support/owned.ts';

export type Json = Record<string, unknown>;

/** Whoever sent the request that is to be answered. */
export interface Asker {
  reply(result: Json): void;
  fail(code: number, message: string): void;
  /** Says all of it in one go, the answer included if it is among them. */
  say(...messages: Json[]): void;
  /** The answer, to be said together with something else. */
  answer(result: Json): Json;
  /** Answers by HTTP alone, as what stands before a server does. */
  status(code: number): void;
  /** Breaks the connection; a program ends with it. */
  breakOff(): void;
}

/** What the server does on each request; those that are not in it do not exist. */
export type Script = Record<string, (asker: Asker, params: Json) => void>;

interface Heard {
  /** Everything that was said to the server: requests, notifications and answers. */
  heard: Json[];
  count(method: string): number;
}

export interface HttpByHand extends Heard {
  config: HttpServerConfig;
  /** Nobody listens any more. */
  stop(): Promise<void>;
  /** At the same address, with the same script. */
  again(): Promise<void>;
}

export interface ProgramByHand extends Heard {
  config: CommandServerConfig;
  /** Whoever is started from now on ends at once. */
  stop(): void;
}

/** A server of the 2025-11-25 protocol with one tool, `work`, that must be a task. */
export function legacy(script: Script, capabilities: Json = {}): Script {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  return {
    initialize: (asker) =>
      asker.reply({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks, ...capabilities },
        serverInfo: { name: 'by-hand', version: '1.0.0' },
      }),
    ping: (asker) => asker.reply({}),
    'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'required')] }),
    'tasks/cancel': (asker, { taskId }) => asker.reply(coreTask('cancelled', { taskId })),
    ...script,
  };
}

/** A server of the 2026-07-28 protocol. */
export function modern(script: Script, capabilities: Json = {}): Script {
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  return {
    'server/discover': (asker) =>
      asker.reply({
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions, ...capabilities },
      }),
    'tasks/cancel': (asker) => asker.reply({ resultType: 'complete' }),
    ...script,
  };
}

export function toolNamed(name: string, taskSupport: 'forbidden' | 'optional' | 'required'): Json {
  return { name, inputSchema: { type: 'object' }, execution: { taskSupport } };
}

const LONG_AGO = new Date(0).toISOString();

export function coreTask(status: string, more: Json = {}): Json {
  return { taskId: 't', status, createdAt: LONG_AGO, lastUpdatedAt: LONG_AGO, ttl: null, pollInterval: 20, ...more };
}

export function extensionTask(status: string, more: Json = {}): Json {
  const times = { createdAt: LONG_AGO, lastUpdatedAt: LONG_AGO, ttlMs: null };
  return { resultType: 'complete', taskId: 't', status, ...times, pollIntervalMs: 20, ...more };
}

export function text(value: string): Json {
  return { content: [{ type: 'text', text: value }] };
}

/** Parameters of a question. */
export function question(message: string, more: Json = {}): Json {
  return { mode: 'form', message, requestedSchema: { type: 'object', properties: {} }, ...more };
}

/** A question as a message. */
export function asking(id: string, message: string, more: Json = {}): Json {
  return { id, method: 'elicitation/create', params: question(message, more) };
}

function answerBy(script: Script, heard: Json[], message: Json, asker: Asker): void {
  heard.push(message);
  const { id, method, params = {} } = message;
  if (typeof method !== 'string' || id === undefined) return;
  const answer = Object.hasOwn(script, method) ? script[method] : undefined;
  if (answer === undefined) asker.fail(-32_601, `Method not found: ${method}`);
  else answer(asker, params as Json);
}

const heardBy = (heard: Json[]): Heard => ({
  heard,
  count: (method) => heard.filter((message) => message['method'] === method).length,
});

export async function httpByHand(script: Script): Promise<HttpByHand> {
  const heard: Json[] = [];
  const start = async (port?: number): Promise<HttpHost> => {
    const host = await listen({
      port,
      onerror: () => {
        // Its connection is broken then, which the other side will notice.
      },
      handle: async (request, response) => {
        if (request.method !== 'POST') return void response.writeHead(405).end();
        const message = (await readJson(request)) as Json;
        if (message['id'] === undefined || message['method'] === undefined) response.writeHead(202).end();
        answerBy(script, heard, message, overHttp(response, message['id']));
      },
    });
    defer(() => host.close());
    return host;
  };
  let host = await start();
  const { port } = host;
  return {
    ...heardBy(heard),
    config: { url: `http://127.0.0.1:${port}/mcp` },
    stop: () => host.close(),
    again: async () => {
      host = await start(port);
    },
  };
}

const SESSION = { 'mcp-session-id': 'the-only-session' };

function overHttp(response: ServerResponse, id: unknown): Asker {
  const say = (...messages: Json[]): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream', ...SESSION });
    response.write(messages.map((message) => `data: ${line(message)}\n\n`).join(''));
    if (messages.some((message) => message['id'] === id && !('method' in message))) response.end();
  };
  const end = (message: Json): void => {
    if (response.headersSent) return say(message);
    response.writeHead(200, { 'content-type': 'application/json', ...SESSION }).end(line(message));
  };
  return {
    say,
    answer: (result) => ({ id, result }),
    reply: (result) => end({ id, result }),
    fail: (code, message) => end({ id, error: { code, message } }),
    status: (code) => void response.writeHead(code, { 'content-type': 'text/html' }).end('<h1>Not now</h1>'),
    breakOff: () => void response.destroy(),
  };
}

/** A real program, whose standard input and output are a socket's: what it says is said here. */
const RELAY = `
const socket = require('node:net').connect(Number(process.env.TEST_PORT), '127.0.0.1');
process.stdin.pipe(socket).pipe(process.stdout);
socket.on('error', () => {}).on('close', () => process.exit(1));
`;

export async function programByHand(script: Script): Promise<ProgramByHand> {
  const heard: Json[] = [];
  const sockets = new Set<Socket>();
  let stopped = false;
  const host = createServer((socket) => {
    socket.on('error', () => {
      // The program is gone.
    });
    if (stopped) return void socket.destroy();
    sockets.add(socket);
    createInterface({ input: socket }).on('line', (said) => {
      const message = JSON.parse(said) as Json;
      answerBy(script, heard, message, overSocket(socket, message['id']));
    });
  });
  await new Promise<void>((resolve) => {
    host.listen(0, '127.0.0.1', resolve);
  });
  defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      host.close(resolve);
    });
  });
  const { port } = host.address() as { port: number };
  return {
    ...heardBy(heard),
    config: { command: process.execPath, args: ['-e', RELAY], env: { TEST_PORT: String(port) } },
    stop: () => {
      stopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

function overSocket(socket: Socket, id: unknown): Asker {
  const say = (...messages: Json[]): void =>
    void socket.write(messages.map((message) => `${line(message)}\n`).join(''));
  return {
    say,
    answer: (result) => ({ id, result }),
    reply: (result) => say({ id, result }),
    fail: (code, message) => say({ id, error: { code, message } }),
    status: () => {
      throw new Error('programs have no HTTP status');
    },
    breakOff: () => void socket.destroy(),
  };
}

function line(message: Json): string {
  return JSON.stringify({ jsonrpc: '2.0', ...message });
}
