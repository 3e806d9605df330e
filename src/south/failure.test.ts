import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerConfig } from '../core/ports/server-config.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { Dialler, GATEWAY_IDENTITY } from './dial.ts';
import { toServerFailure } from './failure.ts';
import { ConnectionClosed, ErrorResponse, RequestTimeout } from './peer/errors.ts';
import { ProbeFailed } from './peer/introduction.ts';

let server: Server | undefined;

afterEach(async () => {
  const open = server;
  server = undefined;
  open?.closeAllConnections();
  await new Promise((resolve) => {
    if (open) open.close(resolve);
    else resolve(undefined);
  });
});

/** The failure of a connection to this server, as the real transports report it. */
async function failureOf(config: ServerConfig, timeoutMs = 10_000): Promise<ServerFailure> {
  const hooks = {
    unwanted: new AbortController().signal,
    onLost: () => {},
    onDoubt: () => {},
    onOutput: () => {},
    prepare: () => {},
  };
  const dialled = await new Dialler(timeoutMs, GATEWAY_IDENTITY).dial(config, hooks).catch((error: unknown) => error);
  expect(dialled).toBeInstanceOf(ServerFailure);
  return dialled as ServerFailure;
}

async function listen(answer: RequestListener): Promise<string> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve);
  });
  return `127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

const respond =
  (status: number, type: string, body: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

const rpcError = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: "no server 'x'" } });

describe('B-1, C-3: a URL that cannot be used', () => {
  test.each([
    [401, 'text/plain', 'no', 'auth', 'the server requires authorization (HTTP 401)'],
    [403, 'text/plain', 'no', 'auth', 'the server denied access (HTTP 403)'],
    [401, 'application/json', rpcError, 'auth', "the server requires authorization (HTTP 401): no server 'x'"],
    [404, 'text/html', '<p>', 'wrong_path', 'HTTP 404 Not Found from '],
    [405, 'text/plain', '', 'wrong_path', 'HTTP 405 Method Not Allowed from '],
    [404, 'application/json', rpcError, 'other', "no server 'x'"],
    [500, 'text/html', '<p>', 'other', 'the server answered with HTTP 500'],
    [500, 'application/json', rpcError, 'other', "no server 'x'"],
    [200, 'text/html', '<p>', 'not_mcp', 'the answer has the content type text/html; check that this is the URL'],
  ])('HTTP %i with %s %j is a failure of the kind %4$s', async (status, type, body, failure, message) => {
    const address = await listen(respond(status, type, body));
    const failed = await failureOf({ url: `http://${address}/mcp` });
    expect(failed).toMatchObject({ failure, message: expect.stringContaining(message) as unknown });
  });

  test('a refused connection is "refused"', async () => {
    expect(await failureOf({ url: 'http://127.0.0.1:1/mcp' })).toMatchObject({
      failure: 'refused',
      message: 'connection refused (ECONNREFUSED)',
    });
  });

  test('a name that does not resolve is "dns"', async () => {
    expect(await failureOf({ url: 'http://no-such-host.invalid/mcp' })).toMatchObject({ failure: 'dns' });
  });

  test('plain HTTP instead of TLS is "tls"', async () => {
    const address = await listen(respond(200, 'text/plain', ''));
    expect(await failureOf({ url: `https://${address}/mcp` })).toMatchObject({ failure: 'tls' });
  });

  test('no response is "timeout"', async () => {
    const address = await listen(() => {});
    expect(await failureOf({ url: `http://${address}/mcp` }, 100)).toMatchObject({
      failure: 'timeout',
      message: 'no MCP answer within 100 ms',
    });
  });
});

describe('B-4, C-3: a command that cannot be used', () => {
  const node = (script: string): ServerConfig => ({ command: process.execPath, args: ['-e', script] });

  test.each([
    ['is missing', { command: 'no-such-program' }, 'command_missing', "command 'no-such-program' was not found"],
    [
      'has no folder',
      { command: 'x', cwd: '/nope' },
      'folder_missing',
      "the folder '/nope' (cwd of 'x') was not found",
    ],
    ['exits', node('process.exit(3)'), 'exited', 'process exited with code 3'],
    ['prints text and exits', node("console.log('hi')"), 'exited', 'it printed to standard output'],
  ])('a command that %s', async (_what, config, failure, message) => {
    const failed = await failureOf(config);
    expect(failed).toMatchObject({ failure, message: expect.stringContaining(message) as unknown });
  });

  test.each([
    ['prints text and does not answer', "console.log('hi'); setInterval(() => {}, 1000)", 'stray_output'],
    ['does not answer', 'process.stdin.resume()', 'timeout'],
  ])('a running command that %s', async (_what, script, failure) => {
    expect(await failureOf(node(script), 600)).toMatchObject({ failure });
  });

  test('a command that is not executable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'meanwhile-failure-'));
    const command = join(folder, 'program');
    try {
      await writeFile(command, '#!/bin/sh\n');
      await chmod(command, 0o600);
      expect(await failureOf({ command })).toMatchObject({ failure: 'not_executable' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('B-1: errors of requests', () => {
  test.each([
    [new RequestTimeout(5), 'timeout', 'no MCP answer within 5 ms'],
    [new ConnectionClosed(), 'closed', 'Connection closed'],
  ])('%s is already a server failure', (error, failure, message) => {
    expect(toServerFailure(error)).toBe(error);
    expect(error).toMatchObject({ failure, message });
  });

  test.each([
    [new ProbeFailed('x'), 'closed', 'the connection was closed before the server answered'],
    [new ProbeFailed('x', { cause: new ServerFailure('exited', 'it is gone') }), 'exited', 'it is gone'],
    [new Error('Not connected'), 'other', 'Not connected'],
    [new ErrorResponse(-32000, 'go away'), 'other', 'go away'],
  ])('%s becomes a server failure', (error, failure, message) => {
    expect(toServerFailure(error)).toMatchObject({ failure, message, cause: error });
  });
});
