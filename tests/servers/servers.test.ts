import { StreamableHTTPClientTransport as ModernHttp, type Client as V2Client } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import type { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it } from 'vitest';
import { v1Stdio, v2Stdio } from '../support/servers.ts';
import { owned } from '../support/owned.ts';
import { richResult } from './shared/rich.ts';
import { callRaw, connectModern, connectV1, pages, textOf } from './smoke-clients.ts';
import { startSse2024 } from './sse2024.ts';
import { startV1Http, type V1HttpOptions } from './v1-http.ts';
import { startV2Http, type V2HttpOptions } from './v2-http.ts';

interface Door {
  readonly transport: Transport;
  readonly state?: { readonly cancelled: string[] };
}

async function v1Http(options?: V1HttpOptions) {
  const server = owned(await startV1Http(options));
  return { server, transport: () => new StreamableHTTPClientTransport(new URL(server.url)) };
}

const v1Doors: Record<string, () => Promise<Door>> = {
  'v1 over HTTP': async () => {
    const { server, transport } = await v1Http();
    return { transport: transport(), state: server.state };
  },
  'v1 over HTTP+SSE': async () => {
    const server = owned(await startSse2024());
    return { transport: new SSEClientTransport(new URL(server.url)), state: server.state };
  },
  'v1 over stdio': async () => ({ transport: new StdioClientTransport({ ...v1Stdio(), stderr: 'pipe' }) }),
};

const v2LegacyDoors: Record<string, () => Promise<Door>> = {
  'v2 over HTTP': async () => {
    const server = owned(await startV2Http());
    return { transport: new StreamableHTTPClientTransport(new URL(server.url)), state: server.state };
  },
  'v2 over stdio': async () => ({ transport: new StdioClientTransport({ ...v2Stdio(), stderr: 'pipe' }) }),
};

function toolPages(client: V1Client) {
  return pages(async (cursor) => {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor });
    return { names: tools.map(({ name }) => name), nextCursor };
  });
}

describe.each(Object.entries({ ...v1Doors, ...v2LegacyDoors }))('%s, v1 client', (_name, open) => {
  it('echoes, fails and lists in pages', async () => {
    const { client } = await connectV1((await open()).transport);
    expect(textOf(await callRaw(client, 'echo', { text: 'hi' }))).toBe('hi');
    expect(await callRaw(client, 'fail')).toMatchObject({ isError: true });
    const { sizes, names } = await toolPages(client);
    expect(sizes.length).toBeGreaterThan(2);
    expect(sizes.slice(0, -1).every((size) => size === 3)).toBe(true);
    expect(names).toEqual(expect.arrayContaining(['echo', 'slow', 'ask', 'ask_twice', 'sample', 'rich', 'fail']));
    expect((await client.listResources()).nextCursor).toBeDefined();
    expect((await client.listPrompts()).nextCursor).toBeDefined();
    await expect(client.listTools({ cursor: 'nonsense' })).rejects.toMatchObject({ code: -32602 });
  });

  it('asks questions and uses the answers', async () => {
    const { client } = await connectV1((await open()).transport);
    expect(textOf(await callRaw(client, 'ask'))).toBe('Hello Ada');
    expect(textOf(await callRaw(client, 'ask_twice'))).toBe('Hello Ada, 36');
    expect(textOf(await callRaw(client, 'sample', { prompt: 'hi' }))).toContain('"text":"sampled"');
  });

  it('accepts a declined question', async () => {
    const { client } = await connectV1((await open()).transport, { refuses: true });
    expect(textOf(await callRaw(client, 'ask'))).toBe('declined');
  });

  it('reports progress and stops when the call is cancelled', async () => {
    const { transport, state } = await open();
    const { client } = await connectV1(transport);
    const steps: number[] = [];
    // With pauses between them: the SDK drops progress that it reads together with the result.
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    await client.callTool({ name: 'slow', arguments: { ms: 600, steps: 3 } }, undefined, { onprogress });
    // The client of the SDK drops the last one if it arrives in one piece with the result.
    expect([steps, [...steps, 3]]).toContainEqual([1, 2, 3]);

    const cancel = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: { ms: 60_000 } }, undefined, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    await expect(call).rejects.toThrow();
    if (state !== undefined) await expect.poll(() => state.cancelled).toEqual(['slow']);
    expect(textOf(await callRaw(client, 'echo', { text: 'still here' }))).toBe('still here');
  });
});

describe.each(Object.entries(v1Doors))('%s', (_name, open) => {
  it('delivers rich content with unknown keys', async () => {
    const { client } = await connectV1((await open()).transport);
    expect(await callRaw(client, 'rich')).toEqual(richResult());
  });

  it('asks outside the stream of the call, by URL, and with tools', async () => {
    const { client } = await connectV1((await open()).transport);
    expect(textOf(await callRaw(client, 'ask_detached'))).toBe('Hello Ada');
    expect(textOf(await callRaw(client, 'ask_url'))).toBe('signed in');
    expect(textOf(await callRaw(client, 'sample_tools'))).toContain('"tool_use"');
  });

  it('withdraws a question', async () => {
    const { client, withdrawn } = await connectV1((await open()).transport, { silent: true });
    // The v1 client does not hear that a request with id 0 was cancelled, so the first withdrawal goes unnoticed.
    expect(textOf(await callRaw(client, 'withdraw', { ms: 30 }))).toBe('withdrew');
    expect(textOf(await callRaw(client, 'withdraw', { ms: 30 }))).toBe('withdrew');
    await expect.poll(() => withdrawn).toEqual(['What is your name?']);
  });

  it('notifies subscribers', async () => {
    const { client, updated } = await connectV1((await open()).transport);
    await client.subscribeResource({ uri: 'test://watched' });
    expect(textOf(await callRaw(client, 'touch', { uri: 'test://watched' }))).toBe('touched 1');
    expect(textOf(await callRaw(client, 'touch', { uri: 'test://text' }))).toBe('touched 0');
    await callRaw(client, 'notify', { count: 2 });
    await expect.poll(() => updated.toSorted()).toEqual(['test://n/0', 'test://n/1', 'test://watched']);
  });

  it('serves resources, prompts, errors and logs', async () => {
    const { client } = await connectV1((await open()).transport);
    expect(await client.readResource({ uri: 'test://item/7' })).toMatchObject({ contents: [{ text: 'item 7' }] });
    expect(await client.readResource({ uri: 'test://blob' })).toMatchObject({ contents: [{ blob: 'AAEC/w==' }] });
    const greet = await client.getPrompt({ name: 'greet', arguments: { who: 'Bob' } });
    expect(JSON.stringify(greet)).toContain('Greet Bob');
    await expect(callRaw(client, 'rpc_error')).rejects.toMatchObject({ code: -32011, data: { retryAfter: 7 } });
    await client.setLoggingLevel('error');
    expect(textOf(await callRaw(client, 'log', { count: 2, level: 'info' }))).toBe('filtered');
    expect(textOf(await callRaw(client, 'log', { count: 2, level: 'alert' }))).toBe('logged 2');
  });
});

describe('the v1 server over HTTP', () => {
  it('can be restarted on the same port', async () => {
    const first = await v1Http();
    const { client } = await connectV1(first.transport());
    await first.server.close();
    await expect(callRaw(client, 'echo', { text: 'x' })).rejects.toThrow();
    const second = await v1Http({ port: first.server.port });
    const again = await connectV1(second.transport());
    expect(textOf(await callRaw(again.client, 'echo', { text: 'back' }))).toBe('back');
  });

  it('can drop sessions, and break streams without dropping sessions', async () => {
    const { server, transport } = await v1Http();
    const { client } = await connectV1(transport());
    const unanswered = expect(callRaw(client, 'slow', { ms: 60_000 })).rejects.toThrow('Connection closed');
    await expect.poll(() => server.state.calls.length).toBe(1);
    server.breakStreams();
    await expect.poll(async () => textOf(await callRaw(client, 'echo', { text: 'same session' }))).toBe('same session');
    server.dropSessions();
    await expect(callRaw(client, 'echo', { text: 'x' })).rejects.toThrow(/404|not found/i);
    await client.close();
    await unanswered;
    expect(server.state.connections).toBe(1);
  });

  it('destroys its sockets in a crash', async () => {
    const { transport } = await v1Http();
    const { client } = await connectV1(transport());
    const call = client.callTool({ name: 'crash' }, undefined, { timeout: 500 });
    await expect(call).rejects.toThrow();
    await expect.poll(async () => textOf(await callRaw(client, 'echo', { text: 'up' }))).toBe('up');
  });

  it.each([{ sessions: false }, { noGetStream: true }])('works with %o', async (options) => {
    const { client } = await connectV1((await v1Http(options)).transport());
    expect(textOf(await callRaw(client, 'echo', { text: 'hi' }))).toBe('hi');
  });

  it('can ignore a cancellation and continue', async () => {
    const { server, transport } = await v1Http();
    const { client } = await connectV1(transport());
    const cancel = new AbortController();
    const options = { signal: cancel.signal };
    const call = client.callTool({ name: 'ignore_cancel', arguments: { ms: 200 } }, undefined, options);
    setTimeout(() => cancel.abort(), 20);
    await expect(call).rejects.toThrow();
    await expect.poll(() => server.state.calls.at(-1)?.tool).toBe('ignore_cancel.finished');
  });
});

describe('the v2 server, modern client', () => {
  const doors: Record<string, () => Promise<V2Client>> = {
    'HTTP, modern only': () => modernHttp({ era: 'modern' }),
    'HTTP, both eras': () => modernHttp({ era: 'both' }),
    stdio: () => connectModern(new ModernStdio({ ...v2Stdio(), stderr: 'pipe' })),
  };

  async function modernHttp(options: V2HttpOptions) {
    const server = owned(await startV2Http(options));
    return connectModern(new ModernHttp(new URL(server.url)));
  }

  it.each(Object.entries(doors))('answers calls over %s', async (_name, open) => {
    const client = await open();
    expect(client.getProtocolEra()).toBe('modern');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
    expect(textOf(await client.callTool({ name: 'ask' }))).toBe('Hello Ada');
    expect(textOf(await client.callTool({ name: 'ask_twice' }))).toBe('Hello Ada, 36');
    expect(textOf(await client.callTool({ name: 'sample', arguments: { prompt: 'x' } }))).toContain('sampled');
    expect(await client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    const { structuredContent, _meta } = richResult();
    expect(await client.callTool({ name: 'rich' })).toMatchObject({ structuredContent, _meta });
    expect((await client.listTools()).tools).toHaveLength(9);
    expect((await client.listResources()).resources).toHaveLength(3);
    expect((await client.listPrompts()).prompts).toHaveLength(3);

    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    await client.callTool({ name: 'slow', arguments: { ms: 30, steps: 3 } }, { onprogress });
    expect(steps).toEqual([1, 2, 3]);
  });

  it('records a cancelled call', async () => {
    const server = owned(await startV2Http({ era: 'modern' }));
    const client = await connectModern(new ModernHttp(new URL(server.url)));
    const cancel = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: { ms: 60_000, text: 'a' } }, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    await expect(call).rejects.toThrow();
    await expect.poll(() => server.state.cancelled).toEqual(['slow:a']);
  });

  it('refuses a legacy client if only the modern era is served', async () => {
    const server = owned(await startV2Http({ era: 'modern' }));
    await expect(connectV1(new StreamableHTTPClientTransport(new URL(server.url)))).rejects.toThrow();
    await expect(
      connectV1(new StdioClientTransport({ ...v2Stdio({ TEST_MODERN_ONLY: '1' }), stderr: 'pipe' })),
    ).rejects.toThrow();
  });
});
