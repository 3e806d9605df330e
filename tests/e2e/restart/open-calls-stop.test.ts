import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOfProgram } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { errorOf, modernCall, modernHeaders, post, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';
import { begin, kill, killable, restart, stateOf } from './killable.ts';

const SLOW = { ms: 60_000 };

const startOf = { v1: () => startV1Http(), v2: () => startV2Http({ era: 'modern' }) };

describe.each(['v1', 'v2'] as const)('S-4: an open call on a %s server when the gateway stops', (kind) => {
  async function setup(): Promise<{ gateway: TestGateway; started: () => Promise<void> }> {
    const server = owned(await startOf[kind]());
    const gateway = await httpGateway({ one: { url: server.url } });
    const started = async (): Promise<void> =>
      expect.poll(() => server.state.calls.map(({ tool }) => tool)).toContain('slow');
    return { gateway, started };
  }

  test('S-4, H-12: gets a shutdown error at the hub, with a session', async () => {
    const { gateway, started } = await setup();
    const session = await rawSession(gateway.url);
    const open = session.reply('execute_tool', { server: 'one', tool: 'slow', args: SLOW });
    await started();
    await gateway.close();
    expect((await open).code).toBe('TOOL_ERR_SHUTTING_DOWN');
  });

  test('S-4, H-12: gets a shutdown error at the hub, without a session', async () => {
    const { gateway, started } = await setup();
    const message = modernCall('execute_tool', { server: 'one', tool: 'slow', args: SLOW });
    const open = post(gateway.url, message, modernHeaders('execute_tool'));
    await started();
    await gateway.close();
    expect(replyOf(await open).code).toBe('TOOL_ERR_SHUTTING_DOWN');
  });

  test('S-4, D-5: gets a JSON-RPC shutdown error at the direct endpoint, with a session', async () => {
    const { gateway, started } = await setup();
    const url = `${gateway.url}/one`;
    const session = await rawSession(url);
    const open = post(url, toolCall('slow', SLOW, 7), session.headers);
    await started();
    await gateway.close();
    expect(errorOf(await open)).toMatchObject({ code: -32000, data: { code: 'TOOL_ERR_SHUTTING_DOWN' } });
  });

  test('S-4, D-5: gets a JSON-RPC shutdown error at the direct endpoint, without a session', async () => {
    const { gateway, started } = await setup();
    const open = post(`${gateway.url}/one`, modernCall('slow', SLOW), modernHeaders('slow'));
    await started();
    await gateway.close();
    expect(errorOf(await open)).toMatchObject({ code: -32000, data: { code: 'TOOL_ERR_SHUTTING_DOWN' } });
  });
});

test('S-4, H-12: over stdio an open call gets a shutdown error at SIGTERM', async () => {
  const server = owned(await startV1Http());
  const hub = await hubOfProgram({ one: { url: server.url } });
  const open = hub.call('execute_tool', { server: 'one', tool: 'slow', args: SLOW });
  open.catch(() => {});
  await expect.poll(() => server.state.calls.length).toBe(1);
  process.kill(hub.pid() ?? 0, 'SIGTERM');
  expect((await open).code).toBe('TOOL_ERR_SHUTTING_DOWN');
});

/** Accepts connections and never answers: whatever is to be sent there waits for the server to be met. */
async function muteServer(): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  const listener = createServer((socket) => void sockets.add(socket));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  defer(async () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const { port } = listener.address() as { port: number };
  return `http://127.0.0.1:${port}/mcp`;
}

test.each(['stopped', 'killed'] as const)(
  'P-2: a task whose call was never sent fails with that reason after the gateway was %s',
  async (how) => {
    const gateway = await killable({ mute: { url: await muteServer() } });
    const session = await rawSession(gateway.url);
    const { id } = await begin(session, 'mute', 'slow');
    if (how === 'killed') await restart(gateway);
    else {
      await gateway.stop();
      await gateway.start();
    }
    const { status, error } = await stateOf(session, id);
    expect(status).toBe('failed');
    expect(error?.message).toContain('had not been sent to the server');
  },
);

test('P-2: a task whose call was sent fails after a kill with the reason that it was running', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { id } = await begin(session, 'one', 'slow', SLOW);
  await kill(gateway);
  await gateway.start();
  expect((await stateOf(session, id)).error?.message).toContain('was running on the server');
});

test('P-2, S-4: a stop does not wait for a server that processes an answer, and the answer is not sent again', async () => {
  const server = owned(await startV2Http({ era: 'modern' }));
  const gateway = await killable({ rounds: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { id, reply } = await begin(session, 'rounds', 'ask_then_work', SLOW, { timeout_ms: 15_000 });
  const [asked] = reply.elicitations;
  const answer = { request_id: asked?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await session.reply('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
  await expect.poll(() => server.state.calls.length).toBe(2);
  const started = Date.now();
  expect(await gateway.stop()).toBe(0);
  expect(Date.now() - started).toBeLessThan(5000);
  await gateway.start();
  const { status, error } = await stateOf(session, id);
  expect(status).toBe('failed');
  expect(error?.message).toContain('stopped before the server answered');
  expect(server.state.calls).toHaveLength(2);
});
