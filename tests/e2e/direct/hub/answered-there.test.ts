import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { eventsUntil, has, soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

type Call = (tool: string, args?: Json) => Promise<Json>;

const CLIENTS: Record<string, (url: string) => Promise<Call>> = {
  legacy: async (url) => {
    const wire = await LegacyWire.open(url, { capabilities: {} });
    return (tool, args) => wire.call(tool, args);
  },
  modern: async (url) => {
    const wire = new ModernWire(url, { capabilities: {} });
    return (tool, args) => wire.call(tool, args);
  },
};

const SERVERS = {
  pushes: async () => owned(await startV1Http()).url,
  rounds: async () => owned(await startV2Http({ era: 'modern' })).url,
};

/** A server of the client's own era hears from each request what can be asked, and says itself what it thinks of that. */
const PAIRS = Object.entries(CLIENTS)
  .flatMap(([client, open]) => Object.entries(SERVERS).map(([server, start]) => ({ client, open, server, start })))
  .filter(({ client, server }) => client !== 'modern' || server !== 'rounds');

async function openAt(hub: HubClient): Promise<{ requestId: string; message: string }[]> {
  return (await hub.call('get_elicitations')).body['elicitations'] as { requestId: string; message: string }[];
}

test.each(PAIRS)(
  'D-7: an elicitation that the client does not support waits at the hub, and the call ends: $client, $server',
  async ({ open, start }) => {
    const { url } = await httpGateway({ one: { url: await start() } });
    // The one only listens, the other only looks: a reply takes along what has happened.
    const [listener, hub] = await Promise.all([hubOverHttp(url), hubOverHttp(url, 'modern')]);
    const call = await open(`${url}/one`);
    const result = call('ask', { message: 'Who?' });
    await soon(() => openAt(hub)).toMatchObject([{ server: 'one', message: 'Who?' }]);
    const [asked] = await openAt(hub);
    const events = await eventsUntil(listener, has('elicitation_request'));
    expect(events.find(({ type }) => type === 'elicitation_request')?.data['requestId']).toBe(asked?.requestId);
    const { elicitations } = await hub.call('list_servers');
    expect(elicitations).toMatchObject([
      { requestId: asked?.requestId, message: 'Who?', requestedSchema: { required: ['name'] } },
    ]);

    const wrong = { request_id: asked?.requestId, action: 'accept', content: { name: 5 } };
    expect((await hub.call('respond_to_elicitation', wrong)).code).toBe('TOOL_ERR_INVALID_ANSWER');
    expect(await openAt(hub)).toHaveLength(1);
    const right = { request_id: asked?.requestId, action: 'accept', content: { name: 'Ada' } };
    expect((await hub.call('respond_to_elicitation', right)).body).toMatchObject({ success: true });
    expect(textOf(await result)).toBe('Hello Ada');
    expect((await hub.call('respond_to_elicitation', right)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
    expect(await openAt(hub)).toEqual([]);
  },
);

test.each(PAIRS)(
  'D-7: a sampling request that the client does not support is answered at the hub: $client, $server',
  async ({ open, start }) => {
    const { url } = await httpGateway({ one: { url: await start() } });
    const hub = await hubOverHttp(url, 'modern');
    const call = await open(`${url}/one`);
    const result = call('sample', { prompt: 'Rhyme!' });
    const waiting = async () => (await hub.call('get_sampling_requests')).body['sampling_requests'] as Json[];
    await soon(async () => (await waiting()).length).toBe(1);
    const [asked] = await waiting();
    await hub.call('respond_to_sampling', { request_id: asked?.['requestId'], content: 'Time' });
    expect(textOf(await result)).toContain('"text":"Time"');
    expect(await waiting()).toEqual([]);
  },
);

test('D-5, D-7: a modern server’s error names the capability that the client must declare', async () => {
  const { url } = await httpGateway({ one: { url: await SERVERS.rounds() } });
  const wire = new ModernWire(`${url}/one`, { capabilities: {} });
  const { status, error } = await wire.send('tools/call', { name: 'ask', arguments: {} });
  expect(status).toBe(400);
  expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
});
