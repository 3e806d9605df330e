import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { nameForm } from '../../servers/shared/forms.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { echo, untilEvent } from './activity.ts';
import { wireTo } from './wire.ts';

const SETTINGS = { servers: { pingMs: 200, reconnect: { firstMs: 50, maxMs: 100, attempts: 1000 } } };

interface Scene {
  hub: HubClient;
  server: V1Http;
  /** Cuts the wire, and mends it when the loss was noticed; resolves when the server is back. */
  blip: () => Promise<void>;
}

async function scene(): Promise<Scene> {
  const server = owned(await startV1Http());
  const wire = await wireTo(server.port);
  const { url } = await httpGateway({ one: { url: `http://127.0.0.1:${wire.port}/mcp` } }, SETTINGS);
  const hub = await hubOverHttp(url);
  await echo(hub, 'one');
  const blip = async (): Promise<void> => {
    await wire.cut();
    await untilEvent(hub, 'server_disconnected', 'one');
    await wire.mend();
    expect((await untilEvent(hub, 'server_reconnected', 'one')).event.data).toMatchObject({ type: 'network_blip' });
  };
  return { hub, server, blip };
}

test('B-3: after a network blip the server gets cancels for its lost calls', async () => {
  const { hub, server, blip } = await scene();
  const call = (tool: string, args: object) => hub.call('execute_tool', { server: 'one', tool, args, timeout_ms: 1 });
  await call('slow', { ms: 600_000, text: 'unwanted' });
  await call('ask', {});
  await expect.poll(() => server.state.calls.map(({ tool }) => tool)).toEqual(['echo', 'slow', 'ask']);
  await blip();
  await expect.poll(() => server.state.cancelled.toSorted()).toEqual(['ask', 'slow:unwanted']);
  expect(await echo(hub, 'one', 'again')).toBe('again');
});

test('B-3: after a network blip the server gets an error for a question outside calls', async () => {
  const { hub, server, blip } = await scene();
  const sessions = [...server.state.sessions];
  const asked = sessions.map(async (session) =>
    session.server
      .request({ method: 'elicitation/create', params: nameForm() }, ResultSchema)
      .catch((error: unknown) => error),
  );
  await expect.poll(async () => (await hub.call('get_elicitations')).body['elicitations']).toHaveLength(1);
  await blip();
  expect(await Promise.race(asked)).toMatchObject({ code: -1 });
});

test('B-3: a call whose stream broke is cancelled on a server that still runs', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, SETTINGS);
  const hub = await hubOverHttp(url);
  const open = hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 600_000, text: 'broken' } });
  await expect.poll(() => server.state.calls.length).toBe(1);
  server.breakStreams();
  expect((await open).code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  await expect.poll(() => server.state.cancelled).toEqual(['slow:broken']);
  expect(server.state.sessions.size).toBeGreaterThan(0);
});
