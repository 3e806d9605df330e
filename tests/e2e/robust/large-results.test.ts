import { expect, test } from 'vitest';
import { LARGE_TEXT } from '../../../src/lib/json-in-turns.ts';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { startSse2024 } from '../../servers/sse2024.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { echo } from '../servers/activity.ts';

const servers: [string, () => Promise<ServerConfig>][] = [
  ['of SDK v1 over HTTP with event streams', async () => ({ url: owned(await startV1Http()).url })],
  ['of SDK v1 over HTTP+SSE', async () => ({ url: owned(await startSse2024()).url })],
  ['of SDK v1 over stdio', async () => v1Stdio()],
  ['of SDK v2 over HTTP', async () => ({ url: owned(await startV2Http()).url })],
  ['of SDK v2 over stdio', async () => v2Stdio()],
];

test.each(servers)('X-3, B-1: large and small results arrive whole from a server %s', async (_which, start) => {
  const { url } = await httpGateway({ one: await start() });
  const hub = await hubOverHttp(url);
  const texts = [`${'ü"\n'.repeat(LARGE_TEXT / 3)}9007199254740993`, 'small', 'x'.repeat(2 * LARGE_TEXT), 'last'];
  const echoed = await Promise.all(texts.map((text) => echo(hub, 'one', text)));
  expect(echoed.map((text, index) => text === texts[index])).toEqual(texts.map(() => true));
});
