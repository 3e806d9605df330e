/** The clients of both SDKs come back by themselves to a stream that broke. */
import { Client as V2Client, StreamableHTTPClientTransport as V2Http } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { breakable } from './breakable.ts';

interface Called {
  call: (tool: string, args?: Json, signal?: AbortSignal) => Promise<Json>;
}

type Answer = () => Promise<{ action: 'accept'; content: Record<string, string> }>;

const INFO = { name: 'broken', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };

const CLIENTS: Record<string, (url: string, answer: Answer) => Promise<Called>> = {
  'SDK v1': async (url, answer) => {
    const client = owned(new V1Client(INFO, CAPABILITIES));
    client.setRequestHandler(ElicitRequestSchema, answer);
    await client.connect(new V1Http(new URL(url)));
    return {
      call: async (name, args, signal) =>
        client.callTool({ name, arguments: args }, undefined, { ...(signal && { signal }) }),
    };
  },
  'SDK v2': async (url, answer) => {
    const client = owned(new V2Client(INFO, { ...CAPABILITIES, versionNegotiation: { mode: 'legacy' } }));
    client.setRequestHandler('elicitation/create', answer);
    await client.connect(new V2Http(new URL(url)));
    return {
      call: async (name, args = {}, signal) =>
        client.callTool({ name, arguments: args }, { ...(signal && { signal }) }),
    };
  },
};

async function behind(kind: string, answer: Answer) {
  const server = owned(await startV1Http());
  const running = await httpGateway({ one: { url: server.url } });
  const wire = await breakable(`${running.url}/one`);
  const client = await CLIENTS[kind]?.(wire.url, answer);
  if (client === undefined) throw new Error(kind);
  return { server, running, wire, client };
}

/** The standing one, and that of the call. */
const STREAMS = 2;

const ada: Answer = async () => ({ action: 'accept', content: { name: 'Ada' } });

test.each(Object.keys(CLIENTS))(
  'E-5, T-4, D-2: a call whose connection breaks still ends with its result: %s',
  async (kind) => {
    const { server, wire, client } = await behind(kind, ada);
    const call = client.call('slow', { ms: 2500, text: 'the result' });
    await soon(() => server.state.calls.length).toBe(1);
    await soon(() => wire.begun()).toBe(STREAMS);
    wire.breakAll();
    expect(textOf(await call)).toBe('the result');
    expect(server.state.calls).toHaveLength(1);
  },
);

test.each(Object.keys(CLIENTS))('E-5, D-2: a question whose connection breaks is asked again: %s', async (kind) => {
  let times = 0;
  const answer: Answer = async () => {
    times += 1;
    if (times === 1) {
      wire.breakAll();
      // The person is still at it.
      return new Promise(() => {});
    }
    return ada();
  };
  const { server, wire, client } = await behind(kind, answer);
  expect(textOf(await client.call('ask'))).toBe('Hello Ada');
  expect(times).toBe(2);
  expect(server.state.calls).toHaveLength(1);
});

test.each(Object.keys(CLIENTS))(
  'E-5, T-4: a call that continued after a broken connection can be cancelled: %s',
  async (kind) => {
    const { server, running, wire, client } = await behind(kind, ada);
    const user = new AbortController();
    const call = client.call('slow', { ms: 600_000, text: 'unwanted' }, user.signal);
    const cancelled = expect(call).rejects.toThrow();
    await soon(() => server.state.calls.length).toBe(1);
    await soon(() => wire.begun()).toBe(STREAMS);
    wire.breakAll();
    await soon(() => running.gateway.sessions[0]?.tasks.list().length).toBe(1);
    user.abort('enough');
    await cancelled;
    await soon(() => server.state.cancelled).toEqual(['slow:unwanted']);
  },
);
