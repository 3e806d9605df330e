/** The ways in which a client gives up a call, and comes back. */
import { Client as V2Client, StreamableHTTPClientTransport as V2Http } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS, TASKS } from '../modern-wire.ts';

const INFO = { name: 'leaver', version: '1.0.0' };
/** Longer than a call needs to reach its server, shorter than it takes there. */
export const TIMEOUT_MS = 300;
export const SLOW_MS = 900;

export interface Leaver {
  /** Makes a call and does not wait for its end: `begun` tells that it has reached the server. */
  leave(tool: string, args: Json, begun: () => Promise<void>): Promise<void>;
  /** Makes a call in the same session, and waits. */
  call(tool: string, args: Json, meta?: Json): Promise<Json>;
  /** What `tasks/list` tells, where there is such a thing. */
  tasks?: () => Promise<Json[]>;
}

export interface Way {
  how: string;
  open: (url: string) => Promise<Leaver>;
}

export const LEGACY_WAYS: readonly Way[] = [
  { how: 'SDK v1, its own time-out', open: v1TimesOut },
  { how: 'SDK v2 of the old era, its own time-out', open: v2TimesOut },
  { how: 'SDK v1, its connection closed', open: v1Closes },
  { how: 'by hand, dropped before there is a stream', open: (url) => wireDrops(url, 'request') },
  { how: 'by hand, stream dropped', open: (url) => wireDrops(url, 'stream') },
  { how: 'by hand, cancelled because of a time-out', open: (url) => wireDrops(url, 'notification') },
];

export const MODERN_WAYS: readonly Way[] = [
  { how: 'SDK v2, call aborted', open: v2Aborts },
  {
    how: 'by hand with rounds, closed',
    open: async (url) => modernDrops(new ModernWire(url, { capabilities: ROUNDS }), url),
  },
  {
    how: 'by hand with tasks, closed',
    open: async (url) => modernDrops(new ModernWire(url, { capabilities: TASKS }), url),
  },
];

export const WAYS = [...LEGACY_WAYS, ...MODERN_WAYS];

/** One for each way in which the gateway hears of it, where that is all that matters. */
export const FEW = WAYS.filter(({ how }) => /SDK v1, its own|stream dropped|by hand with/.test(how));

const callOf = (name: string, args: Json, meta?: Json): { method: 'tools/call'; params: Json } => ({
  method: 'tools/call',
  params: { name, arguments: args, ...(meta && { _meta: meta }) },
});

async function v1TimesOut(url: string): Promise<Leaver> {
  const client = owned(new V1Client(INFO));
  await client.connect(new V1Http(new URL(url)));
  return {
    leave: async (tool, args, begun) => {
      const call = client.request(callOf(tool, args), ResultSchema, { timeout: TIMEOUT_MS });
      await Promise.all([expect(call).rejects.toThrow(/timed out/i), begun()]);
    },
    call: async (tool, args, meta) => client.request(callOf(tool, args, meta), ResultSchema),
    tasks: async () => (await client.request({ method: 'tasks/list' }, ResultSchema))['tasks'] as Json[],
  };
}

async function v1Closes(url: string): Promise<Leaver> {
  const client = owned(new V1Client(INFO));
  const transport = new V1Http(new URL(url));
  await client.connect(transport);
  const wire = new LegacyWire(url, String(transport.sessionId));
  return {
    leave: async (tool, args, begun) => {
      const closed = expect(client.request(callOf(tool, args), ResultSchema)).rejects.toThrow(/closed/i);
      await begun();
      await client.close();
      await closed;
    },
    ...comesBack(wire),
  };
}

async function v2TimesOut(url: string): Promise<Leaver> {
  const client = await v2(url, 'legacy');
  return {
    leave: async (tool, args, begun) => {
      const call = client.callTool({ name: tool, arguments: args }, { timeout: TIMEOUT_MS });
      await Promise.all([expect(call).rejects.toThrow(/timed out/i), begun()]);
    },
    call: async (tool, args, meta) => client.callTool({ name: tool, arguments: args, ...(meta && { _meta: meta }) }),
  };
}

async function v2Aborts(url: string): Promise<Leaver> {
  const client = await v2(url, { pin: '2026-07-28' });
  return {
    leave: async (tool, args, begun) => {
      const user = new AbortController();
      const left = expect(client.callTool({ name: tool, arguments: args }, { signal: user.signal })).rejects.toThrow();
      await begun();
      user.abort('enough');
      await left;
    },
    call: async (tool, args, meta) => client.callTool({ name: tool, arguments: args, ...(meta && { _meta: meta }) }),
  };
}

async function v2(url: string, mode: 'legacy' | { pin: string }): Promise<V2Client> {
  const client = owned(new V2Client(INFO, { versionNegotiation: { mode } }));
  await client.connect(new V2Http(new URL(url)));
  return client;
}

async function wireDrops(url: string, what: 'request' | 'stream' | 'notification'): Promise<Leaver> {
  const wire = await LegacyWire.open(url, { capabilities: {} });
  const headers = { 'mcp-session-id': wire.sessionId, 'mcp-protocol-version': '2025-11-25' };
  return {
    leave: async (tool, args, begun) => {
      if (what === 'request') {
        const sent = postAndLeave(url, { jsonrpc: '2.0', id: 'left', ...callOf(tool, args) }, headers);
        await begun();
        sent.destroy();
        return;
      }
      const stream = await wire.callStream(tool, args);
      await begun();
      if (what === 'stream') stream.drop();
      else await wire.notify('notifications/cancelled', { requestId: stream.id, reason: 'Request timed out' });
    },
    ...comesBack(wire),
  };
}

function comesBack(wire: LegacyWire): Pick<Leaver, 'call' | 'tasks'> {
  return {
    call: async (tool, args, meta) => wire.call(tool, args, meta && { _meta: meta }),
    tasks: async () => (await wire.request('tasks/list'))['tasks'] as Json[],
  };
}

export function modernDrops(wire: ModernWire, url: string): Leaver {
  return {
    leave: async (tool, args, begun) => {
      const { message, headers } = wire.raw('tools/call', { name: tool, arguments: args });
      const sent = postAndLeave(url, message, headers);
      await begun();
      sent.destroy();
    },
    call: async (tool, args, meta) => {
      const result = await wire.call(tool, args, meta && { _meta: meta });
      if (result['resultType'] !== 'task') return result;
      return (await wire.task(result['taskId'], 'completed'))['result'] as Json;
    },
  };
}
