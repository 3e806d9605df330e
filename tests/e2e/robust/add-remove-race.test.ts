import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { echo } from '../servers/activity.ts';

/** Letting go of it takes a while, and in that while somebody else may come. */
const STUBBORN = v1Stdio({ TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' });

interface Race {
  adder: HubClient;
  remover: HubClient;
  watcher: HubClient;
  /** Whether the server is there in the end. */
  there: boolean;
}

type First = 'added' | 'removed';

async function race(first: First): Promise<Race> {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ x: STUBBORN });
  const [adder, remover, watcher] = await Promise.all([hubOverHttp(url), hubOverHttp(url), hubOverHttp(url)]);
  await Promise.all([adder, remover, watcher].map((hub) => echo(hub, 'x')));
  const add = (): Promise<unknown> => adder.call('add_server', { name: 'x', url: server.url });
  const remove = (): Promise<unknown> => remover.call('remove_server', { name: 'x' });
  const servers = gateway.registry.of('local');
  const before = servers.get('x');
  const begun = first === 'added' ? add() : remove();
  await vi.waitFor(() => expect(servers.get('x')).not.toBe(before), { timeout: 10_000 });
  await Promise.all([begun, first === 'added' ? remove() : add()]);
  return { adder, remover, watcher, there: servers.get('x') !== undefined };
}

const FIRST: First[] = ['added', 'removed'];

test.each(FIRST)(
  'S-3: a server that is added and removed at once (first %s) is the same for every session',
  async (first) => {
    const { adder, remover, watcher, there } = await race(first);
    for (const hub of [adder, remover, watcher]) {
      const servers = (await hub.call('list_servers')).body['servers'] as Json[];
      expect(servers.some(({ name }) => name === 'x')).toBe(there);
      const reply = await hub.call('execute_tool', { server: 'x', tool: 'echo', args: { text: 'hi' } });
      expect(reply.code).toBe(there ? undefined : 'TOOL_ERR_SERVER_NOT_FOUND');
    }
  },
);

test.each(FIRST)(
  'S-3: after a server is added and removed at once (first %s), the last event is true',
  async (first) => {
    const { watcher, there } = await race(first);
    const { events } = await watcher.call('list_servers');
    const told = events.map(({ type }) => type).filter((type) => /^server_(added|removed)$/.test(type));
    expect(told.at(-1)).toBe(there ? 'server_added' : 'server_removed');
  },
);
