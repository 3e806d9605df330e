import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { echo } from '../servers/activity.ts';

/** Letting go of it takes a while, and in that while somebody else may come. */
const STUBBORN = v1Stdio({ TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' });

/** What a session knows of the server: told last, shown, and whether it can be used. */
async function known(hub: HubClient): Promise<{ told: boolean[]; shown: boolean; used: boolean }> {
  const { body, events } = await hub.call('list_servers');
  const told = events.filter(({ type, server }) => /^server_(added|removed)$/.test(type) && server === 'x');
  const shown = (body['servers'] as Json[]).some(({ name }) => name === 'x');
  const reply = await hub.call('execute_tool', { server: 'x', tool: 'echo', args: { text: 'hi' } });
  if (reply.isError) expect(reply.code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
  return { told: told.slice(-1).map(({ type }) => type === 'server_added'), shown, used: !reply.isError };
}

test.each(['added', 'removed'] as const)(
  'S-3: a server that is first %s, then the other, is so for all',
  async (first) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ x: STUBBORN });
    const [adder, remover, watcher] = await Promise.all([hubOverHttp(url), hubOverHttp(url), hubOverHttp(url)]);
    await Promise.all([adder, remover, watcher].map((hub) => echo(hub, 'x')));
    const add = (): Promise<unknown> => adder.call('add_server', { name: 'x', url: server.url });
    const remove = (): Promise<unknown> => remover.call('remove_server', { name: 'x' });
    const before = gateway.registry.get('x');
    const begun = first === 'added' ? add() : remove();
    await vi.waitFor(() => expect(gateway.registry.get('x')).not.toBe(before), { timeout: 10_000 });
    const then = first === 'added' ? remove() : add();
    await Promise.all([begun, then]);

    const there = gateway.registry.get('x') !== undefined;
    expect(await known(watcher)).toEqual({ told: [there], shown: there, used: there });
    expect(await known(adder)).toMatchObject({ shown: there, used: there });
    expect(await known(remover)).toMatchObject({ shown: there, used: there });
  },
);
