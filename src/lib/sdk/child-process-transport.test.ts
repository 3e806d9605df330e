import { Client, type Transport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { scriptedServer } from '../../../tests/support/scripted-server.ts';

/** A server that answers `initialize` and no request before it. */
async function silentBeforeInitialize(): Promise<Transport> {
  const { transport } = await scriptedServer('legacy');
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!('method' in message) || message.method !== 'server/discover') await send(message, options);
  };
  return transport;
}

const newClient = (): Client =>
  new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 50 } } });

test('B-2: a transport with `pid` and `stderr` counts as a child process, which may leave the probe unanswered', async () => {
  const transport = Object.assign(await silentBeforeInitialize(), { pid: 1, stderr: null });
  const client = newClient();
  await client.connect(transport);
  expect(client.getProtocolEra()).toBe('legacy');
  await client.close();
});

test('B-2: for any other transport that is an error', async () => {
  await expect(newClient().connect(await silentBeforeInitialize())).rejects.toThrow();
});
