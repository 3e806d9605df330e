import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { echo, statusOf } from './activity.ts';

async function startLog(): Promise<{ file: string; starts: () => Promise<number> }> {
  const file = join(await temporaryFolder(), 'starts');
  return { file, starts: async () => (await readFile(file, 'utf8')).trim().split('\n').length };
}

const EARLY = [
  { what: 'answers a request before initialize', env: {}, first: 1 },
  { what: 'ignores a request before initialize', env: { TEST_SILENT_UNTIL_INIT: '1' }, first: 1 },
  // It dies of the question which era it speaks and has to be started again without it.
  { what: 'exits on a request before initialize', env: { TEST_EXIT_ON_EARLY_REQUEST: '1' }, first: 2 },
];

test.each(EARLY)('B-1: a command that $what is used, and its era is probed only once', async ({ env, first }) => {
  const { file, starts } = await startLog();
  const server = v1Stdio({ ...env, TEST_START_LOG: file });
  const { url } = await httpGateway({ one: server }, { servers: { connectTimeoutMs: 1500 } });
  expect(await echo(await hubOverHttp(url), 'one')).toBe('hi');
  expect(await starts()).toBe(first);

  // Several at a time: the verdict is not lost on the first that uses it.
  const later = await Promise.all([hubOverHttp(url), hubOverHttp(url), hubOverHttp(url)]);
  expect(await Promise.all(later.map((hub) => echo(hub, 'one')))).toEqual(['hi', 'hi', 'hi']);
  expect(await starts()).toBe(first + later.length);
});

test('B-1: a modern command server is started once for each session', async () => {
  const { file, starts } = await startLog();
  const { url } = await httpGateway({ one: v2Stdio({ TEST_START_LOG: file }) });
  expect(await echo(await hubOverHttp(url), 'one')).toBe('hi');
  expect(await echo(await hubOverHttp(url), 'one')).toBe('hi');
  expect(await starts()).toBe(2);
});

const OLD = '2025-11-25';
const NEW = '2026-07-28';

test.each([
  {
    what: 'a modern server replaces a legacy one',
    before: () => startV1Http(),
    after: (port: number) => startV2Http({ port, era: 'modern' }),
    speaks: [OLD, NEW],
  },
  {
    what: 'a legacy server replaces a modern one',
    before: () => startV2Http({ era: 'modern' }),
    after: (port: number) => startV1Http({ port, sessions: false }),
    speaks: [NEW, OLD],
  },
])('B-1: an era that is no longer right is detected again: $what', async ({ before, after, speaks }) => {
  const first = owned(await before());
  const servers = { pingMs: 100, reconnect: { firstMs: 50, maxMs: 100, attempts: 1000 } };
  const { url } = await httpGateway({ one: { url: first.url } }, { servers });
  const hub = await hubOverHttp(url);
  expect(await echo(hub, 'one')).toBe('hi');
  expect(await statusOf(hub, 'one')).toMatchObject({ protocolVersion: speaks[0] });
  await first.close();
  owned(await after(first.port));
  const turned = { status: 'connected', protocolVersion: speaks[1] };
  await vi.waitFor(async () => expect(await statusOf(hub, 'one')).toMatchObject(turned), { timeout: 10_000 });
  expect(await echo(hub, 'one')).toBe('hi');
});
