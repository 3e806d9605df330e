import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../../servers/v1-http.ts';
import { httpGateway, stdioGateway, type SettingsInput } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { StdioTransport } from '../../../support/stdio-transport.ts';
import { soon } from '../../flows/watch.ts';

const SLOW = { name: 'slow', arguments: { ms: 1500, text: 'worth it' } };
const CODEX = 'MCP response future dropped';

const WAYS = (['http', 'stdio'] as const).flatMap((door) =>
  (['legacy', 'modern'] as const).map((era) => ({ door, era })),
);
/** Over HTTP a modern client closes its request and gives no reason. */
const WITH_REASON = WAYS.filter(({ door, era }) => door === 'stdio' || era === 'legacy');

interface Cancelled {
  client: Client;
  server: V1Http;
}

/** A client that has cancelled a running call for a reason. */
async function cancelled(
  { door, era }: (typeof WAYS)[number],
  reason: string,
  settings: SettingsInput = {},
): Promise<Cancelled> {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = owned(new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } }));
  if (door === 'http') {
    const { url } = await httpGateway(servers, settings);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/one`)));
  } else {
    await client.connect(new StdioTransport(await stdioGateway(servers, settings, 'one')));
  }
  const user = new AbortController();
  const call = expect(client.callTool(SLOW, { signal: user.signal })).rejects.toThrow();
  await soon(() => server.state.calls.length).toBe(1);
  user.abort(reason);
  await call;
  return { client, server };
}

/** The same call again gets the result of the first one. */
async function expectKept({ client, server }: Cancelled): Promise<void> {
  expect(await client.callTool(SLOW)).toMatchObject({ content: [{ text: 'worth it' }] });
  expect(server.state.cancelled).toEqual([]);
  expect(server.state.calls).toHaveLength(1);
}

async function expectStopped({ server }: Cancelled): Promise<void> {
  await soon(() => server.state.cancelled).toEqual(['slow:worth it']);
}

test.each(WITH_REASON)('T-4: after Codex stops waiting, the same call gets the result ($door, $era)', async (way) => {
  await expectKept(await cancelled(way, CODEX));
});

test.each(WITH_REASON)('T-4: `calls.onCancel: keep` keeps a call that the user cancels ($door, $era)', async (way) => {
  await expectKept(await cancelled(way, 'the user pressed escape', { calls: { onCancel: 'keep' } }));
});

test.each(WAYS)('T-4: `calls.onCancel: cancel` stops a call whose client stops waiting ($door, $era)', async (way) => {
  await expectStopped(await cancelled(way, CODEX, { calls: { onCancel: 'cancel' } }));
});
