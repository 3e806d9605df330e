import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { echo } from '../servers/activity.ts';
import { beginStream, oddServer } from './odd-server.ts';

const MEGABYTE = 2 ** 20;
/** Twice what is taken of an answer. Then the server waits: who still listens would wait with it for ever. */
const MOST = 128 * MEGABYTE;

/** One event that does not end, as fast as it is read. Resolves with how much was taken. */
async function pour(response: ServerResponse): Promise<number> {
  const left = once(response, 'close');
  const chunk = Buffer.alloc(MEGABYTE, 'x');
  let poured = 0;
  beginStream(response);
  response.write('data: "');
  while (poured < MOST && !response.destroyed) {
    poured += chunk.length;
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), left]);
  }
  await left;
  return poured;
}

test('X-3: an endless SSE event of a server is cut off', async () => {
  let poured: Promise<number> | undefined;
  const odd = await oddServer({
    'tools/call': ({ response }) => {
      poured = pour(response);
    },
  });
  const fine = owned(await startV1Http());
  const { url } = await httpGateway({ odd: { url: odd.url }, fine: { url: fine.url } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'odd', tool: 'any' });
  expect(reply.isError).toBe(true);
  expect(reply.code).toMatch(/^TOOL_ERR_(EXECUTION_FAILED|SERVER_DISCONNECTED)$/);
  expect(await poured).toBeLessThan(MOST);
  expect(await echo(hub, 'fine', 'unharmed')).toBe('unharmed');
});
