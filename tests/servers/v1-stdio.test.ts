import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it } from 'vitest';
import { v1Stdio } from '../support/servers.ts';
import { isAlive } from '../support/alive.ts';
import { defer, owned } from '../support/owned.ts';
import { callRaw, connectV1, textOf } from './smoke-clients.ts';

function v1Process(env: Record<string, string> = {}) {
  return new StdioClientTransport({ ...v1Stdio(env), stderr: 'pipe' });
}

describe('the v1 server as a child process', () => {
  async function pidOf(client: V1Client, tool: 'pid' | 'grandchild'): Promise<number> {
    return Number(textOf(await callRaw(client, tool)));
  }

  it('writes much text to stderr without blocking', async () => {
    const transport = v1Process();
    let bytes = 0;
    transport.stderr?.on('data', (chunk: Buffer) => (bytes += chunk.length));
    const { client } = await connectV1(transport);
    expect(textOf(await callRaw(client, 'stderr', { bytes: 1_000_000 }))).toBe('wrote 1000000');
    await expect.poll(() => bytes).toBe(1_000_000);
    expect(textOf(await callRaw(client, 'big', { bytes: 300_000 }))).toHaveLength(300_000);
  });

  it('ends its process in a crash', async () => {
    const { client } = await connectV1(v1Process());
    const pid = await pidOf(client, 'pid');
    await expect(callRaw(client, 'crash')).rejects.toThrow();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('can leave a grandchild process behind', async () => {
    const { client } = await connectV1(v1Process());
    const pid = await pidOf(client, 'grandchild');
    await client.close();
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('gets its environment and logs its starts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'servers-'));
    defer(() => rm(folder, { recursive: true }));
    const log = join(folder, 'starts');
    const { client } = await connectV1(v1Process({ TEST_START_LOG: log }));
    expect(textOf(await callRaw(client, 'env', { name: 'TEST_START_LOG' }))).toBe(log);
    expect(await readFile(log, 'utf8')).toBe(`${await pidOf(client, 'pid')}\n`);
  });

  it.each([{ TEST_EXIT_AT_START: '1' }, { TEST_EXIT_AFTER_MS: '0' }])('exits early with %o', async (env) => {
    await expect(connectV1(v1Process(env))).rejects.toThrow(/closed|EPIPE/);
  });

  it('exits with the end of stdin', async () => {
    const { client } = await connectV1(v1Process());
    const pid = await pidOf(client, 'pid');
    const unanswered = expect(callRaw(client, 'slow', { ms: 60_000 })).rejects.toThrow('Connection closed');
    await client.close();
    await unanswered;
    expect(isAlive(pid)).toBe(false);
  });

  it('can ignore the end of stdin and SIGTERM', async () => {
    const { client } = await connectV1(v1Process({ TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' }));
    const pid = await pidOf(client, 'pid');
    const closing = client.close();
    process.kill(pid, 'SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await closing;
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it.each([
    { env: {}, outcome: 'answer' },
    { env: { TEST_SILENT_UNTIL_INIT: '1' }, outcome: 'silence' },
    { env: { TEST_EXIT_ON_EARLY_REQUEST: '1' }, outcome: 'end' },
  ])('reacts to a request before initialize with: $outcome', async ({ env, outcome }) => {
    const transport = owned(v1Process(env));
    const seen: string[] = [];
    const first = new Promise<string>((resolve) => {
      Object.assign(transport, {
        onmessage: (message: object) =>
          seen.push('id' in message ? String(message.id) : '?') === 1 && resolve('answer'),
        onclose: () => resolve('end'),
      });
    });
    await transport.start();
    await transport.send({ jsonrpc: '2.0', id: 'early', method: 'server/discover', params: {} });
    if (outcome !== 'silence') return expect(await first).toBe(outcome);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    await transport.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params });
    await first;
    expect(seen).toEqual(['init']);
  });
});
