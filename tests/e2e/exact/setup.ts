/** Servers and clients that read and write numbers as text. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { httpGateway, stdioGateway } from '../../support/gateway.ts';
import { defer } from '../../support/owned.ts';
import { INITIALIZE, modernHeaders, rawSession, send } from '../../support/raw-http.ts';

export type Era = 'legacy' | 'modern';
export type Wire = 'stdio' | 'http';

const SERVER = fileURLToPath(new URL('exact-server.mjs', import.meta.url));

export async function exactServer(wire: Wire, era: Era): Promise<ServerConfig> {
  if (wire === 'stdio') return { command: process.execPath, args: [SERVER, era], env: {} };
  const child = spawn(process.execPath, [SERVER, era, 'http'], { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  defer(async () => {
    child.kill('SIGKILL');
  });
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { url: `http://127.0.0.1:${port}/mcp` };
}

/** Calls a tool, with the arguments and metadata as text; resolves with everything that came back, as text. */
export type ExactCall = (tool: string, args: string, meta?: string) => Promise<string>;

/** A client of the hub, or of the server `exact` if `view` is direct. */
export async function exactClient(
  wire: Wire,
  era: Era,
  view: 'hub' | 'direct',
  server: ServerConfig,
): Promise<ExactCall> {
  if (wire === 'stdio') {
    const socket = await stdioGateway({ exact: server }, {}, view === 'direct' ? 'exact' : undefined);
    return overStdio(socket, era);
  }
  const gateway = await httpGateway({ exact: server });
  return overHttp(view === 'direct' ? `${gateway.url}/exact` : gateway.url, era);
}

export async function overHttp(url: string, era: Era): Promise<ExactCall> {
  const session = era === 'legacy' ? await rawSession(url) : undefined;
  let calls = 0;
  return async (tool, args, meta) => {
    calls += 1;
    const headers = session?.headers ?? {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...modernHeaders(tool),
    };
    return (await send(url, { headers, body: request(String(calls), era, tool, args, meta) })).text;
  };
}

async function overStdio(socket: Socket, era: Era): Promise<ExactCall> {
  const lines = createInterface({ input: socket });
  const exchange = async (id: string, text: string): Promise<string> =>
    new Promise((resolve) => {
      const heard: string[] = [];
      const onLine = (line: string): void => {
        heard.push(line);
        if (!line.includes(`"id":${id}`)) return;
        lines.off('line', onLine);
        resolve(heard.join('\n'));
      };
      lines.on('line', onLine);
      socket.write(`${text}\n`);
    });
  if (era === 'legacy') {
    await exchange('0', JSON.stringify(INITIALIZE));
    socket.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  let calls = 0;
  return async (tool, args, meta) => {
    calls += 1;
    return exchange(String(calls), request(String(calls), era, tool, args, meta));
  };
}

const ENVELOPE =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},' +
  '"io.modelcontextprotocol/clientCapabilities":{}';

export function request(id: string, era: Era, tool: string, args: string, meta = ''): string {
  const members = [era === 'modern' ? ENVELOPE : '', meta].filter((each) => each !== '').join(',');
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":${args},"_meta":{${members}}}}`;
}
