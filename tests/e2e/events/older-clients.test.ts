/** Clients of protocol versions before 2025-11-25, which parse the data of every event as a JSON-RPC message. */
import { Client } from 'sdk-1.20/client/index.js';
import { StreamableHTTPClientTransport } from 'sdk-1.20/client/streamableHttp.js';
import type { Transport } from 'sdk-1.20/shared/transport.js';
import { JSONRPCMessageSchema, ResultSchema } from 'sdk-1.20/types.js';
import { describe, expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { firstEvents, INITIALIZE, openStream, post, rawSession, type RawStream } from '../../support/raw-http.ts';
import { killable, restart } from '../restart/killable.ts';

const OLDER = ['2024-11-05', '2025-03-26', '2025-06-18'];

type Endpoint = 'hub' | 'direct';

async function setup(): Promise<{ gateway: TestGateway; url: (endpoint: Endpoint) => string }> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } });
  return { gateway, url: (endpoint) => (endpoint === 'hub' ? gateway.url : `${gateway.url}/one`) };
}

/** The `tools/call` parameters of the server's tool `slow`, which takes long enough to be answered with a stream. */
function slow(endpoint: Endpoint, args: Json): Json {
  const call = { name: 'slow', arguments: args };
  const params =
    endpoint === 'direct' ? call : { name: 'execute_tool', arguments: { server: 'one', tool: 'slow', args } };
  return { ...params, _meta: { progressToken: 'token' } };
}

function postSlow(url: string, headers: Record<string, string>, params: Json): Promise<RawStream> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
  return openStream(url, { method: 'POST', headers, body });
}

/** The messages of a stream, by the rules of the time: each event has data, and all data is a JSON-RPC message. */
function messages({ events }: RawStream): Json[] {
  return events.map(({ data }) => JSONRPCMessageSchema.parse(JSON.parse(data)) as Json);
}

const lastText = (stream: RawStream): unknown => {
  const { result } = messages(stream).at(-1) as { result: { content: Json[] } };
  return result.content[0]?.['text'];
};

describe.each(['hub', 'direct'] as const)('at the %s endpoint', (endpoint) => {
  test('E-5: SDK 1.20 reads every stream without an error', async () => {
    const { gateway, url } = await setup();
    const transport = new StreamableHTTPClientTransport(new URL(url(endpoint)));
    const client = owned(new Client({ name: 'old', version: '1.0.0' }));
    const errors: Error[] = [];
    client.onerror = (error) => errors.push(error);
    // Its types predate `exactOptionalPropertyTypes`.
    await client.connect(transport as Transport);
    expect(transport.protocolVersion).toBe('2025-06-18');
    await vi.waitFor(() => expect(gateway.listener.counts.streams).toBe(1));
    expect((await client.listTools()).tools.length).toBeGreaterThan(1);
    const progress: unknown[] = [];
    const result = await client.request(
      { method: 'tools/call', params: slow(endpoint, { ms: 800, steps: 2, text: 'late' }) },
      ResultSchema,
      { onprogress: (each) => progress.push(each) },
    );
    expect((result['content'] as Json[])[0]).toEqual({ type: 'text', text: 'late' });
    expect(progress.length).toBeGreaterThan(0);
    expect(errors).toEqual([]);
  });

  test.each(OLDER)('E-5: with %s every SSE event has a message', async (version) => {
    const { url } = await setup();
    const session = await rawSession(url(endpoint), {}, version);
    const standing = await openStream(url(endpoint), { headers: session.headers });
    const answer = await postSlow(url(endpoint), session.headers, slow(endpoint, { ms: 800, steps: 2, text: 'late' }));
    await answer.ended;
    expect(messages(answer).map(({ method = 'reply' }) => method)).toContain('notifications/progress');
    expect(lastText(answer)).toBe('late');
    expect(standing.status).toBe(200);
    expect(messages(standing)).toEqual([]);
  });

  test('E-5: an older client resumes a stream from the last message that it received', async () => {
    const { url } = await setup();
    const session = await rawSession(url(endpoint), {}, '2025-06-18');
    const broken = await postSlow(url(endpoint), session.headers, slow(endpoint, { ms: 2000, steps: 4, text: 'late' }));
    const [first] = await firstEvents(broken, 1);
    expect(first?.data).toContain('notifications/progress');
    // The connection stays open: to the gateway, the client changes to another one.
    const headers = { ...session.headers, 'last-event-id': first?.id ?? '' };
    const resumed = await openStream(url(endpoint), { headers });
    await resumed.ended;
    expect(lastText(resumed)).toBe('late');
  });

  test('E-5: a resume of a stream that was read to its end is refused', async () => {
    const { url } = await setup();
    const session = await rawSession(url(endpoint), {}, '2025-06-18');
    const answer = await postSlow(url(endpoint), session.headers, slow(endpoint, { ms: 800, steps: 2, text: 'late' }));
    await answer.ended;
    // SDK 1.23, in Gemini CLI, resumes every stream that has ended. If the answer is an empty stream, it opens a second
    // standing stream, which ends the first one, and so on every second, once more with each call.
    const headers = { ...session.headers, 'last-event-id': answer.events.at(-1)?.id ?? '' };
    const resumed = await openStream(url(endpoint), { headers });
    expect(resumed.status).toBe(405);
  });

  test('E-5: a stream opened before `notifications/initialized` follows the version of `initialize`', async () => {
    const { url } = await setup();
    const open = async (protocolVersion: string): Promise<RawStream> => {
      const opened = await post(url(endpoint), { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } });
      // Without MCP-Protocol-Version, as clients send it before they have read the answer.
      const headers = { accept: 'text/event-stream', 'mcp-session-id': String(opened.headers['mcp-session-id']) };
      return openStream(url(endpoint), { headers });
    };
    const older = await open('2025-06-18');
    const unknown = await open('2099-01-01');
    // Of a version that the gateway does not know, the answer to `initialize` is 2025-11-25.
    expect((await firstEvents(unknown, 1))[0]).toMatchObject({ data: '' });
    expect(older.events).toEqual([]);
  });
});

test('E-5, P-2: a resume of a call that a restart ended gets its error, and a second resume is refused', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const session = await rawSession(gateway.url, {}, '2025-06-18');
  const call = slow('hub', { ms: 60_000, steps: 120, text: 'never' });
  const broken = await postSlow(gateway.url, session.headers, call);
  const [first] = await firstEvents(broken, 1);
  await restart(gateway);
  const resume = (id = ''): Promise<RawStream> =>
    openStream(gateway.url, { headers: { ...session.headers, 'last-event-id': id } });
  const answer = await resume(first?.id);
  await answer.ended;
  expect(messages(answer)).toEqual([expect.objectContaining({ id: 7, error: expect.anything() as unknown })]);
  expect((await resume(answer.events.at(-1)?.id)).status).toBe(405);
});

test('E-5, P-2: the protocol version of a session is known after a restart', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const older = await rawSession(gateway.url, {}, '2025-06-18');
  const newer = await rawSession(gateway.url);
  await restart(gateway);
  const streams = [older, newer].map(({ headers }) => openStream(gateway.url, { headers }));
  const [standing, primed] = (await Promise.all(streams)) as [RawStream, RawStream];
  expect((await firstEvents(primed, 1))[0]).toMatchObject({ data: '' });
  const answer = await postSlow(gateway.url, older.headers, slow('hub', { ms: 600, steps: 2, text: 'late' }));
  await answer.ended;
  expect(lastText(answer)).toBe('late');
  expect(messages(standing)).toEqual([]);
});
