import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

/** More than fits between two sockets, so that it cannot all be handed over at once. */
const BIG = { bytes: 14_000_000 };

interface Raw {
  message: Json;
  headers: Record<string, string>;
}

interface Client {
  raw: Raw;
  call: () => Promise<Json>;
}

const CLIENTS: Record<'legacy' | 'modern', (url: string) => Promise<Client>> = {
  legacy: async (url) => {
    const wire = await LegacyWire.open(url);
    return { raw: wire.raw('tools/call', { name: 'big', arguments: BIG }), call: () => wire.call('big', BIG) };
  },
  modern: async (url) => {
    const wire = new ModernWire(url);
    return { raw: wire.raw('tools/call', { name: 'big', arguments: BIG }), call: () => wire.call('big', BIG) };
  },
};

/** Breaks the connection as soon as the answer begins. */
async function postAndBreak(url: string, { message, headers }: Raw): Promise<void> {
  const body = JSON.stringify(message);
  await new Promise<void>((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      response.on('error', () => {
        // It is this side that breaks it.
      });
      response.once('close', resolve);
      response.once('data', () => sent.destroy());
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test.each(['legacy', 'modern'] as const)(
  'T-4: a result whose reply was lost is kept, and the identical call gets it (%s)',
  async (era) => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url } });
    const hub = await hubOverHttp(url, 'modern');
    const client = await CLIENTS[era](`${url}/one`);
    await postAndBreak(`${url}/one`, client.raw);
    await soon(() => tasksOf(hub)).toMatchObject([{ tool: 'big', status: 'completed' }]);
    expect(textOf(await client.call())).toHaveLength(BIG.bytes);
    expect(server.state.calls).toHaveLength(1);
    // It has been delivered now.
    await soon(() => tasksOf(hub)).toEqual([]);
    expect(textOf(await client.call())).toHaveLength(BIG.bytes);
    expect(server.state.calls).toHaveLength(2);
  },
);
