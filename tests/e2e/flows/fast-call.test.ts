import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { hubThrough, WAYS } from './doors.ts';
import { settle, tasksOf } from './watch.ts';

test.each(WAYS)(
  'H-3, H-4: a fast call returns the result of the server unchanged, without a task ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough(way, { one: { url: server.url } });
    await settle(hub);
    const { raw } = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'quick' } });
    expect(raw.content).toEqual([{ type: 'text', text: 'quick' }]);
    expect(raw['isError']).toBeUndefined();
    expect(await tasksOf(hub)).toEqual([]);
  },
);

test.each(['url', 'command'])('H-3: a result arrives with all its blocks and fields (server by %s)', async (by) => {
  const config = by === 'url' ? { url: owned(await startV1Http()).url } : v1Stdio();
  const { url } = await httpGateway({ one: config });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const { raw } = await hub.call('execute_tool', { server: 'one', tool: 'rich' });
  expect(raw).toEqual(richResult());
});

test('H-4, P-3: fast calls write nothing to the store, and a promoted call does', async () => {
  const server = owned(await startV1Http());
  const folder = await temporaryFolder();
  // The history is written beside the calls.
  const settings = { store: join(folder, 'meanwhile.db'), history: { keepMs: 0 } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(url);
  await settle(hub);
  // The events the first reply brought are dropped from the store once it has arrived.
  await settle(hub);
  const before = await fingerprint(folder);
  for (let call = 0; call < 20; call += 1) {
    await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: `${call}` } });
  }
  expect(await fingerprint(folder)).toEqual(before);
  await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 0 });
  expect(await fingerprint(folder)).not.toEqual(before);
});

async function fingerprint(folder: string): Promise<Record<string, string>> {
  const files = await readdir(folder);
  const prints = files.map(async (name) => {
    const { size, mtimeMs } = await stat(join(folder, name));
    return [name, `${size} ${mtimeMs}`] as const;
  });
  return Object.fromEntries(await Promise.all(prints));
}
