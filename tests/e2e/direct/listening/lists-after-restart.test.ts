import { expect, test } from 'vitest';
import { httpGateway, type Servers } from '../../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../../support/hub.ts';
import { soon } from '../../flows/watch.ts';
import { httpByHand, legacy, programByHand, text, toolNamed, type Script } from '../../native/by-hand.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';
import type { MessageStream } from '../stream.ts';

const SETTINGS = { servers: { pingMs: 100, reconnect: { firstMs: 20, maxMs: 50, attempts: 1000 } } };
const TELLS = { tools: { listChanged: true }, resources: { listChanged: true }, prompts: { listChanged: true } };
const KINDS = ['tools', 'resources', 'prompts'] as const;

/** The names in the lists of a server; a list with several pages has one name on each. */
interface Lists {
  tools: string[];
  resources: string[];
  prompts: string[];
  templates: string[];
}

const BEFORE: Lists = { tools: ['a', 'b'], resources: ['a'], prompts: ['a'], templates: ['a'] };

/** A server whose lists are those of the moment. `crash` ends it. */
function serverWith(lists: Lists, capabilities: Json = TELLS): Script {
  const page = (key: keyof Lists, cursor: unknown, make: (name: string) => Json): Json => {
    const at = Number(cursor ?? 0);
    const names = lists[key].slice(at, at + 1);
    return {
      [key === 'templates' ? 'resourceTemplates' : key]: names.map(make),
      ...(at + 1 < lists[key].length && { nextCursor: String(at + 1) }),
    };
  };
  return legacy(
    {
      'tools/list': (asker, { cursor }) => asker.reply(page('tools', cursor, (name) => toolNamed(name, 'forbidden'))),
      'resources/list': (asker, { cursor }) =>
        asker.reply(page('resources', cursor, (name) => ({ name, uri: `test://${name}` }))),
      'resources/templates/list': (asker, { cursor }) =>
        asker.reply(page('templates', cursor, (name) => ({ name, uriTemplate: `test://${name}/{id}` }))),
      'prompts/list': (asker, { cursor }) => asker.reply(page('prompts', cursor, (name) => ({ name }))),
      'tools/call': (asker, { name }) => (name === 'crash' ? asker.breakOff() : asker.reply(text('done'))),
    },
    { tasks: undefined, ...capabilities },
  );
}

interface Reader {
  wire: LegacyWire | ModernWire;
  stream: MessageStream;
  /** The kinds of lists that the client was told have changed. */
  told: () => string[];
}

async function readAll(wire: Reader['wire'], method: string): Promise<void> {
  let cursor: unknown;
  do {
    const page = await wire.request(method, cursor === undefined ? {} : { cursor });
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
}

const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];

const ERAS = {
  legacy: async (url: string) => {
    const wire = await LegacyWire.open(url);
    return { wire, stream: await wire.listen() };
  },
  modern: async (url: string) => {
    const wire = new ModernWire(url);
    const all = { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true };
    const stream = await wire.listen(all);
    await stream.heard('notifications/subscriptions/acknowledged');
    return { wire, stream };
  },
};

/** A client that has read these lists, and listens. */
async function reader(era: keyof typeof ERAS, url: string, lists: readonly string[] = LISTS): Promise<Reader> {
  const { wire, stream } = await ERAS[era](url);
  for (const method of lists) await readAll(wire, method);
  const told = (): string[] =>
    KINDS.flatMap((kind) => stream.told(`notifications/${kind}/list_changed`).map(() => kind));
  return { wire, stream, told };
}

async function gateway(servers: Servers): Promise<string> {
  return (await httpGateway(servers, SETTINGS)).url;
}

const BOTH = ['legacy', 'modern'] as const;

test.each(BOTH)(
  'D-5, B-3: a server that restarts with other lists: the %s client is notified of the changed ones',
  async (era) => {
    const lists = structuredClone(BEFORE);
    const server = await httpByHand(serverWith(lists));
    const { url, logs } = await httpGateway({ one: server.config }, SETTINGS);
    const { told } = await reader(era, `${url}/one`);
    await server.stop();
    await soon(() => logs.some(({ event }) => event === 'server_disconnected')).toBe(true);
    // The last page of one list, and of the two lists of resources the templates.
    lists.tools = ['a', 'c'];
    lists.templates = ['z'];
    await server.again();
    await soon(told).toEqual(['tools', 'resources']);
  },
);

test.each(BOTH)(
  'D-5, B-3: a command server that restarts with another list: the %s client is notified',
  async (era) => {
    const lists = structuredClone(BEFORE);
    const server = await programByHand(serverWith(lists));
    const { wire, told } = await reader(era, `${await gateway({ one: server.config })}/one`);
    lists.prompts = [];
    await wire.send('tools/call', { name: 'crash', arguments: {} });
    await soon(told).toEqual(['prompts']);
  },
);

test.each(BOTH)(
  'D-5, S-3: a server that is replaced by one with another list: the %s client is notified',
  async (era) => {
    const before = await httpByHand(serverWith(BEFORE));
    const after = await httpByHand(serverWith({ ...BEFORE, resources: ['a', 'b'] }));
    const url = await gateway({ one: before.config });
    const { told } = await reader(era, `${url}/one`);
    const hub = await hubOverHttp(url, 'modern');
    expect(await hub.call('add_server', { name: 'one', url: after.config.url })).toMatchObject({ isError: false });
    await soon(told).toEqual(['resources']);
  },
);

test.each(BOTH)(
  'D-5, B-3: lists that are the same after a restart cause no notification to the %s client',
  async (era) => {
    const server = await programByHand(serverWith(BEFORE));
    const { wire, told } = await reader(era, `${await gateway({ one: server.config })}/one`);
    const read = (): number => LISTS.reduce((sum, method) => sum + server.count(method), 0);
    const before = read();
    await wire.send('tools/call', { name: 'crash', arguments: {} });
    // All pages of all lists were read again.
    await soon(read).toBe(before + 5);
    expect(await wire.call('any')).toMatchObject({ content: [{ text: 'done' }] });
    expect(told()).toEqual([]);
  },
);

test('D-5: a client is notified only of lists that it has read and that the server declares listChanged for', async () => {
  const lists = structuredClone(BEFORE);
  const capabilities = { ...TELLS, prompts: {} };
  const server = await programByHand(serverWith(lists, capabilities));
  const { wire, told } = await reader('legacy', `${await gateway({ one: server.config })}/one`, [
    'tools/list',
    'prompts/list',
  ]);
  const read = server.count('resources/list');
  Object.assign(lists, { tools: ['c'], resources: ['c'], prompts: ['c'] });
  await wire.send('tools/call', { name: 'crash', arguments: {} });
  await soon(told).toEqual(['tools']);
  expect(await wire.call('any')).toMatchObject({ content: [{ text: 'done' }] });
  expect(told()).toEqual(['tools']);
  expect(server.count('resources/list')).toBe(read);
});

test('D-5: a client that read only the first page is notified when that page changes', async () => {
  const lists = structuredClone(BEFORE);
  const server = await programByHand(serverWith(lists));
  const { wire, told } = await reader('legacy', `${await gateway({ one: server.config })}/one`, []);
  await wire.request('tools/list');
  lists.tools = ['c', 'b'];
  await wire.send('tools/call', { name: 'crash', arguments: {} });
  await soon(told).toEqual(['tools']);
});
