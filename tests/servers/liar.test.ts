import {
  StreamableHTTPClientTransport as ModernHttp,
  type Transport as V2Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { owned } from '../support/owned.ts';
import { liarStdio } from '../support/servers.ts';
import { startLiarHttp } from './liar-http.ts';
import type { Manner } from './liar.ts';
import { callRaw, connectModern, connectV1, textOf } from './smoke-clients.ts';

type Open<T> = (manner: Manner) => Promise<T>;

const v1Doors: Record<string, Open<Transport>> = {
  HTTP: async (manner) => new StreamableHTTPClientTransport(new URL(owned(await startLiarHttp(manner)).url)),
  stdio: async (manner) => new StdioClientTransport({ ...liarStdio(manner), stderr: 'pipe' }),
};

describe.each(Object.entries(v1Doors))('the test server with invalid responses over %s, v1 client', (_name, open) => {
  it('works correctly for honest tools', async () => {
    const { client } = await connectV1(await open('legacy'));
    expect(textOf(await callRaw(client, 'echo', { text: 'hi' }))).toBe('hi');
    const seen: unknown[] = [];
    const stream = client.experimental.tasks.callToolStream({ name: 'honest' }, CallToolResultSchema, { task: {} });
    for await (const message of stream) seen.push(message.type === 'result' ? textOf(message.result) : message.type);
    expect(seen).toEqual(['taskCreated', 'taskStatus', 'in the end']);
  });

  it('returns invalid responses', async () => {
    const { client } = await connectV1(await open('legacy'));
    expect(await callRaw(client, 'unasked_task')).toMatchObject({ task: { status: 'working' } });
    const broken = await callRaw(client, 'broken_question', { how: 'schema is a string' });
    expect(textOf(broken)).toContain('requestedSchema');
  });

  it.each(['stranger', 'parrot'] as const)('sends no valid messages as a %s', async (manner) => {
    const transport = owned(await open(manner));
    const heard: unknown[] = [];
    transport.onmessage = (message) => void heard.push(message);
    const trouble = new Promise((resolve) => {
      transport.onerror = resolve;
    });
    await transport.start();
    await Promise.race([
      trouble,
      transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' }).then(
        () => trouble,
        () => {},
      ),
    ]);
    expect(heard).toEqual([]);
  });

  it('negotiates an unknown version', async () => {
    await expect(connectV1(await open('ancient'))).rejects.toThrow('1999-12-31');
  });
});

const v2Doors: Record<string, Open<V2Transport>> = {
  HTTP: async (manner) => new ModernHttp(new URL(owned(await startLiarHttp(manner)).url)),
  stdio: async (manner) => new ModernStdio({ ...liarStdio(manner), stderr: 'pipe' }),
};

describe.each(Object.entries(v2Doors))(
  'the test server with invalid responses over %s, modern client',
  (_name, open) => {
    it('works for an honest tool, and returns invalid responses', async () => {
      const client = await connectModern(await open('modern'));
      expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
      await expect(client.callTool({ name: 'honest' })).rejects.toThrow("'task'");
      await expect(client.callTool({ name: 'unknown_result_type' })).rejects.toThrow('riddle');
    });
  },
);
