/** What the rich server says is what the protocol allows: both SDKs take it. */
import {
  StreamableHTTPClientTransport as ModernHttp,
  type Transport as V2Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it, vi } from 'vitest';
import { owned } from '../support/owned.ts';
import { bundlePath } from '../support/servers.ts';
import { startRichHttp } from './rich-http.ts';
import type { Era, Json } from './rich/wire.ts';
import { connectModern, connectV1, textOf } from './smoke-clients.ts';

const program = (era: Era) => ({
  command: process.execPath,
  args: [bundlePath('rich-stdio')],
  env: { TEST_ERA: era },
});

const v1Doors: Record<string, () => Promise<Transport>> = {
  HTTP: async () => new StreamableHTTPClientTransport(new URL(owned(await startRichHttp('legacy')).url)),
  stdio: async () => new StdioClientTransport(program('legacy')),
};

const v2Doors: Record<string, () => Promise<V2Transport>> = {
  HTTP: async () => new ModernHttp(new URL(owned(await startRichHttp('modern')).url)),
  stdio: async () => new ModernStdio(program('modern')),
};

/** Where the answer may come with the progress before it, the SDKs forget about the progress when they have the answer. */
const ALL_AT_ONCE = new Set(['stdio']);

/** All pages of a list. */
async function all(list: (params: { cursor?: string }) => Promise<Json>, key: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...(page[key] as Json[]));
    if (page['nextCursor'] === undefined) return items;
    cursor = page['nextCursor'] as string;
  }
}

const CITY = { ref: { type: 'ref/prompt' as const, name: 'everything' }, argument: { name: 'city', value: 'Z' } };

describe.each(Object.entries(v1Doors))('the test server with rich content over %s, v1 client', (name, open) => {
  it('is accepted by a v1 client', async () => {
    const { client, updated } = await connectV1(await open());
    expect(client.getServerVersion()).toMatchObject({ name: 'rich', title: 'Rich ✓' });
    expect(await all((page) => client.listTools(page), 'tools')).toHaveLength(12);
    expect(await all((page) => client.listResources(page), 'resources')).toHaveLength(5);
    expect(await all((page) => client.listResourceTemplates(page), 'resourceTemplates')).toHaveLength(3);
    expect(await all((page) => client.listPrompts(page), 'prompts')).toHaveLength(3);
    expect((await client.readResource({ uri: 'rich://text' })).contents).toHaveLength(3);
    const prompt = await client.getPrompt({ name: 'everything', arguments: { city: 'Zürich' } });
    expect(prompt.messages).toHaveLength(7);
    expect((await client.complete(CITY)).completion).toMatchObject({ total: 1000, hasMore: true });
    expect((await client.callTool({ name: 'everything' })).content).toHaveLength(7);
    expect((await client.callTool({ name: 'rows' })).structuredContent).toEqual({ result: [{ id: 1 }, { id: 2 }] });
    await expect(client.readResource({ uri: 'rich://missing' })).rejects.toMatchObject({ code: -32_002 });
    await client.setLoggingLevel('info');
    expect(textOf(await client.callTool({ name: 'talk' }))).toBe('said');
    await client.subscribeResource({ uri: 'rich://text' });
    await client.callTool({ name: 'change', arguments: { what: ['rich://text'] } });
    await vi.waitFor(() => expect(updated).toEqual(['rich://text']), 10_000);
    const steps: unknown[] = [];
    await client.callTool({ name: 'steps' }, undefined, { onprogress: ({ progress }) => steps.push(progress) });
    if (!ALL_AT_ONCE.has(name)) expect(steps).toEqual([0, 0.5, 3]);
  });
});

describe.each(Object.entries(v2Doors))('the test server with rich content over %s, modern client', (name, open) => {
  it('is accepted by a modern client', async () => {
    const client = await connectModern(await open());
    expect(client.getServerVersion()).toMatchObject({ name: 'rich', title: 'Rich ✓' });
    expect(await all((page) => client.listTools(page), 'tools')).toHaveLength(12);
    expect(await all((page) => client.listResources(page), 'resources')).toHaveLength(5);
    expect(await all((page) => client.listResourceTemplates(page), 'resourceTemplates')).toHaveLength(3);
    expect(await all((page) => client.listPrompts(page), 'prompts')).toHaveLength(3);
    expect(await client.readResource({ uri: 'rich://text' })).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' });
    const prompt = await client.getPrompt({ name: 'everything', arguments: { city: 'Zürich' } });
    expect(prompt.messages).toHaveLength(7);
    expect((await client.complete(CITY)).completion).toMatchObject({ total: 1000, hasMore: true });
    expect((await client.callTool({ name: 'everything' })).content).toHaveLength(7);
    expect((await client.callTool({ name: 'rows' })).structuredContent).toEqual([{ id: 1 }, { id: 2 }]);
    await expect(client.readResource({ uri: 'rich://missing' })).rejects.toMatchObject({ code: -32_602 });
    const mirror = await client.callTool({ name: 'mirror', arguments: { region: 'north' } });
    expect(mirror.structuredContent).toMatchObject({ params: { arguments: { region: 'north' } } });
    const updated: unknown[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri));
    const subscription = await client.listen({ resourceSubscriptions: ['rich://text', 'rich://missing'] });
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: ['rich://text'] });
    await client.callTool({ name: 'change', arguments: { what: ['rich://text'] } });
    await vi.waitFor(() => expect(updated).toEqual(['rich://text']), 10_000);
    await subscription.close();
    const steps: unknown[] = [];
    await client.callTool({ name: 'steps' }, { onprogress: ({ progress }) => steps.push(progress) });
    if (!ALL_AT_ONCE.has(name)) expect(steps).toEqual([0, 0.5, 3]);
  });
});
