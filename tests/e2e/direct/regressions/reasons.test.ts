import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { asking, httpByHand, legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { throughGateway } from '../same/places.ts';
import { connect, type Place } from '../same/wire-client.ts';

const CANCELLED = 'notifications/cancelled';
const STOP = 'the user pressed stop';
const CHANGED = 'Error: I have changed my mind ✓';

interface Begun {
  id: unknown;
  told: () => Json[];
}

interface Client {
  begin(method: string, params: Json): Promise<Begun>;
  notify(method: string, params: Json): Promise<unknown>;
}

const CLIENTS: Record<'HTTP' | 'stdio', (place: Place) => Promise<Client>> = {
  HTTP: async (place) => {
    if (!('url' in place)) throw new Error('no address');
    const wire = await LegacyWire.open(place.url);
    return {
      begin: async (method, params) => {
        const stream = await wire.stream(method, params);
        return { id: stream.id, told: () => stream.messages };
      },
      notify: async (method, params) => wire.notify(method, params),
    };
  },
  stdio: async (place) => {
    const client = owned(await connect('legacy', place));
    await client.hello();
    let requests = 0;
    return {
      begin: async (method, params) => {
        requests += 1;
        const id = `request ${requests}`;
        // Nobody answers what was cancelled.
        client.request(id, method, params).catch(() => {});
        return { id, told: () => client.said.map(({ message }) => message) };
      },
      notify: async (method, params) => client.notify(method, params),
    };
  },
};

async function between(server: 'HTTP' | 'stdio', transport: 'HTTP' | 'stdio') {
  const askers: Asker[] = [];
  const script = legacy(
    {
      'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'forbidden')] }),
      'tools/call': (asker) => void askers.push(asker),
      'resources/read': (asker) => void askers.push(asker),
    },
    { tasks: undefined, resources: {} },
  );
  const byHand = await (server === 'HTTP' ? httpByHand : programByHand)(script);
  const { config } = byHand;
  const place: Place = 'url' in config ? { url: config.url } : { args: [], env: {}, ...config };
  const client = await CLIENTS[transport](await throughGateway(place, transport));
  const begin = async (method: string, params: Json): Promise<Begun & { asker: Asker }> => {
    const before = askers.length;
    const begun = await client.begin(method, params);
    await soon(() => askers.length).toBe(before + 1);
    const asker = askers.at(-1);
    if (asker === undefined) throw new Error('nobody asked');
    return { ...begun, asker };
  };
  const reasons = (): unknown[] =>
    byHand.heard
      .filter(({ method }) => method === CANCELLED)
      .map(({ params }) => (params as { reason?: unknown }).reason);
  return { client, begin, reasons };
}

const CALL: [string, Json] = ['tools/call', { name: 'work', arguments: {} }];
const READ: [string, Json] = ['resources/read', { uri: 'test://slow' }];

const ENDS = [
  ['HTTP', 'HTTP'],
  ['HTTP', 'stdio'],
  ['stdio', 'HTTP'],
  ['stdio', 'stdio'],
] as const;

test.each(ENDS)('D-5: a server over %s gets the reason why its client over %s cancelled', async (server, transport) => {
  const { client, begin, reasons } = await between(server, transport);
  for (const request of [CALL, READ]) {
    const { id } = await begin(...request);
    await client.notify(CANCELLED, { requestId: id, reason: `${STOP}: ${request[0]}` });
  }
  await soon(reasons).toEqual([`${STOP}: tools/call`, `${STOP}: resources/read`]);
  const { id } = await begin(...CALL);
  await client.notify(CANCELLED, { requestId: id });
  await soon(() => reasons()[2]).toBe('Error: cancelled by the client');
});

test.each(ENDS)(
  'D-5: the reason why a server over %s withdraws a question reaches its client over %s',
  async (...ends) => {
    const { begin } = await between(...ends);
    const { asker, told } = await begin(...CALL);
    const find = (method: string): Json | undefined => told().find((message) => message['method'] === method);
    asker.say(asking('q', 'Sure?'));
    await soon(() => find('elicitation/create')).toBeDefined();
    asker.say({ method: CANCELLED, params: { requestId: 'q', reason: CHANGED } });
    await soon(() => find(CANCELLED)).toBeDefined();
    expect(find(CANCELLED)?.['params']).toEqual({ requestId: find('elicitation/create')?.['id'], reason: CHANGED });
    asker.reply(text('done'));
  },
);

test('D-5, T-4: the reason for cancelling a call that was taken over reaches the server', async () => {
  const server = await programByHand(
    legacy({ 'tools/list': (asker) => asker.reply({ tools: [] }), 'tools/call': () => {} }, { tasks: undefined }),
  );
  const { url, gateway } = await httpGateway({ one: server.config });
  const wire = await LegacyWire.open(`${url}/one`);
  const left = await wire.callStream('work');
  left.drop();
  await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);
  const again = await wire.callStream('work');
  await wire.notify(CANCELLED, { requestId: again.id, reason: STOP });
  await soon(() => server.heard.find(({ method }) => method === CANCELLED)).toMatchObject({ params: { reason: STOP } });
  expect(server.count('tools/call')).toBe(1);
});

test('D-5, D-4: the reason for cancelling reaches the server also from a modern client over stdio', async () => {
  const server = await programByHand(
    legacy({ 'tools/list': (asker) => asker.reply({ tools: [] }), 'tools/call': () => {}, 'resources/read': () => {} }),
  );
  const place = await throughGateway({ args: [], env: {}, ...server.config }, 'stdio');
  const client = owned(await connect('modern', place));
  await client.hello();
  for (const [method, params] of [CALL, READ]) {
    // Nobody answers what was cancelled.
    client.request(method, method, params).catch(() => {});
    await soon(() => server.count(method)).toBe(1);
    await client.notify(CANCELLED, { requestId: method, reason: `${STOP}: ${method}` });
    await soon(() => server.heard.findLast((message) => message['method'] === CANCELLED)).toMatchObject({
      params: { reason: `${STOP}: ${method}` },
    });
  }
});
