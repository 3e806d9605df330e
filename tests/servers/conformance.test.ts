import {
  StreamableHTTPClientTransport as ModernHttp,
  type Transport as V2Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as V1Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it } from 'vitest';
import { owned } from '../support/owned.ts';
import { conformanceStdio } from '../support/servers.ts';
import { startLegacyHttp } from './conformance-legacy-http.ts';
import { startModernHttp } from './conformance-modern-http.ts';
import { callRaw, connectModern, connectV1, textOf } from './smoke-clients.ts';

interface Doors {
  v1(): V1Transport;
  v2(): V2Transport;
}

type Era = 'modern' | 'legacy';
type Way = 'http' | 'stdio';

async function open(era: Era, way: Way): Promise<Doors> {
  if (way === 'stdio') {
    const start = { ...conformanceStdio(era), stderr: 'pipe' as const };
    return { v1: () => new StdioClientTransport(start), v2: () => new ModernStdio(start) };
  }
  const server = owned(era === 'modern' ? await startModernHttp() : await startLegacyHttp());
  const url = new URL(server.url);
  return { v1: () => new StreamableHTTPClientTransport(url), v2: () => new ModernHttp(url) };
}

const TASKS = { 'io.modelcontextprotocol/tasks': {} };

describe.each<Way>(['http', 'stdio'])('the conformance servers over %s', (way) => {
  it('offer the same tools and prompts', async () => {
    const client = await connectModern((await open('modern', way)).v2());
    const old = (await connectV1((await open('legacy', way)).v1())).client;
    const names = (items: { name: string }[]): string[] => items.map(({ name }) => name);
    expect(names((await client.listTools()).tools)).toEqual(names((await old.listTools()).tools));
    expect(names((await client.listPrompts()).prompts)).toEqual(names((await old.listPrompts()).prompts));
  });

  it('modern: asks in rounds, and refuses a legacy client', async () => {
    const doors = await open('modern', way);
    const client = await connectModern(doors.v2(), TASKS);
    const result = await client.callTool({ name: 'test_input_required_result_elicitation' });
    expect(textOf(result)).toBe('Hello, Ada!');
    await expect(connectV1(doors.v1())).rejects.toThrow();
  });

  it('legacy: sends questions as requests, supports tasks, and refuses a modern client', async () => {
    const doors = await open('legacy', way);
    const { client } = await connectV1(doors.v1());
    expect(textOf(await callRaw(client, 'test_input_required_result_elicitation'))).toBe('Hello, Ada!');
    const seen: string[] = [];
    for await (const message of client.experimental.tasks.callToolStream({
      name: 'confirm_delete',
      arguments: { filename: 'a.txt' },
    })) {
      if (message.type === 'result') seen.push(String(textOf(message.result)));
      if (message.type === 'error') throw message.error;
    }
    expect(seen).toEqual(['Deleted a.txt: unknown']);
    await expect(connectModern(doors.v2())).rejects.toThrow();
  });
});
