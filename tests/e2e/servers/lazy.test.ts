import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { echo, statusOf } from './activity.ts';

/** A command server that writes down each of its starts. */
async function recorded(): Promise<{ config: ReturnType<typeof v1Stdio>; starts: () => Promise<number> }> {
  const file = join(await temporaryFolder(), 'starts');
  const starts = async (): Promise<number> =>
    readFile(file, 'utf8').then(
      (text) => text.trim().split('\n').length,
      () => 0,
    );
  return { config: v1Stdio({ TEST_START_LOG: file }), starts };
}

test.each<ClientKind>(['v1', 'v2', 'modern'])(
  'S-2: a command server starts on first use, a URL server is connected with the session (%s)',
  async (kind) => {
    const far = owned(await startV1Http());
    const { config, starts } = await recorded();
    const { url } = await httpGateway({ far: { url: far.url }, local: config });
    const hub = await hubOverHttp(url, kind);
    await hub.call('list_servers');
    await expect.poll(async () => statusOf(hub, 'far')).toMatchObject({ connected: true });
    expect(await statusOf(hub, 'local')).toMatchObject({
      connected: false,
      status: 'not_connected',
      note: 'connects on first use',
    });
    expect(await statusOf(hub, 'local')).not.toHaveProperty('lastError');
    const { body, isError } = await hub.call('list_servers');
    expect(isError).toBe(false);
    expect(body['servers']).toContainEqual(
      expect.objectContaining({ name: 'local', status: 'not_connected', note: 'connects on first use' }),
    );
    expect(await starts()).toBe(0);
    expect(await echo(hub, 'local', 'first use')).toBe('first use');
    expect(await starts()).toBe(1);
    expect(await statusOf(hub, 'local')).toMatchObject({ connected: true });
  },
);

test('S-2: list_tools starts the command servers that it lists', async () => {
  const { config, starts } = await recorded();
  const { url } = await httpGateway({ local: config, other: v2Stdio() });
  const hub = await hubOverHttp(url);
  const { body } = await hub.call('list_tools');
  const servers = new Set((body['tools'] as Json[]).map(({ server }) => server));
  expect(servers).toEqual(new Set(['local', 'other']));
  expect(await starts()).toBe(1);
});

test('S-2: servers.connect can make commands eager and URLs lazy', async () => {
  const far = owned(await startV1Http());
  const { config, starts } = await recorded();
  const { url } = await httpGateway(
    { far: { url: far.url }, local: config },
    { servers: { connect: { commands: 'eager', urls: 'lazy' } } },
  );
  const hub = await hubOverHttp(url);
  await expect.poll(starts).toBe(1);
  await expect.poll(async () => statusOf(hub, 'local')).toMatchObject({ connected: true });
  expect(await statusOf(hub, 'far')).toMatchObject({
    connected: false,
    status: 'not_connected',
    note: 'connects on first use',
  });
  expect(far.state.sessions.size).toBe(0);
  expect(await echo(hub, 'far', 'first use')).toBe('first use');
});

test('S-2, S-3: a command server that one session adds starts for other sessions on first use', async () => {
  const { config, starts } = await recorded();
  const { url } = await httpGateway({}, { allowCommands: true });
  const [one, two] = [await hubOverHttp(url), await hubOverHttp(url)];
  await two.call('list_servers');
  await one.call('add_server', { name: 'local', ...config });
  expect(await statusOf(two, 'local')).toMatchObject({ status: 'not_connected', note: 'connects on first use' });
  expect(await starts()).toBe(1);
  expect(await echo(two, 'local', 'mine')).toBe('mine');
  expect(await starts()).toBe(2);
});
