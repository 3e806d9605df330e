import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession, type RawSession } from '../../support/raw-http.ts';
import { oddServer } from './odd-server.ts';

interface Setup {
  running: TestGateway;
  client: RawSession;
  /** From now on the list is answered. */
  speak: () => void;
}

/** One server is as it should be, the other answers everything but what tools it has. */
async function setup(): Promise<Setup> {
  let silent = true;
  const odd = await oddServer({
    initialize: ({ reply }) =>
      reply({
        protocolVersion: '2025-06-18',
        // It promises to tell of changes, so its list would be kept.
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'odd', version: '1.0.0' },
      }),
    'tools/list': ({ reply }) => {
      if (!silent) reply({ tools: [{ name: 'found', inputSchema: { type: 'object' } }] });
    },
    'tools/call': ({ fail }) => fail(-32042, 'no luck'),
  });
  const fine = owned(await startV1Http());
  const running = await httpGateway({ odd: { url: odd.url }, fine: { url: fine.url } }, { calls: { timeoutMs: 1000 } });
  const client = await rawSession(running.url);
  return {
    running,
    client,
    speak: () => {
      silent = false;
    },
  };
}

async function nobodyBusy({ gateway, listener }: TestGateway): Promise<void> {
  await vi.waitFor(() => expect(gateway.sessions.map(({ busy }) => busy)).toEqual([false]), 10_000);
  expect(listener.counts.requests).toBe(0);
}

test('X-3, H-12: a server that never answers tools/list does not hide the tools of others', async () => {
  const { running, client } = await setup();
  const { body } = await client.reply('list_tools');
  const tools = body['tools'] as Json[];
  expect(tools).toContainEqual(expect.objectContaining({ server: 'fine', name: 'echo' }));
  expect(tools.filter(({ server }) => server === 'odd')).toEqual([]);
  expect(body['unavailable']).toEqual([{ server: 'odd', error: expect.any(String) }]);
  await nobodyBusy(running);
});

test('X-3, H-12: list_tools for a silent server times out, and works when the server answers', async () => {
  const { running, client, speak } = await setup();
  const reply = await client.reply('list_tools', { server: 'odd' });
  expect(reply.code).toBe('TOOL_ERR_TIMEOUT');
  await nobodyBusy(running);
  speak();
  const { body } = await client.reply('list_tools', { server: 'odd' });
  expect(body['tools']).toMatchObject([{ server: 'odd', name: 'found' }]);
});

test('X-3, H-12: the error of a call does not wait for a missing tools/list response', async () => {
  const { running, client } = await setup();
  const reply = await client.reply('execute_tool', { server: 'odd', tool: 'anything' });
  expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(reply.text).toContain('no luck');
  await nobodyBusy(running);
});
