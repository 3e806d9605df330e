import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { beginStream, oddServer } from '../robust/odd-server.ts';
import { echo } from '../servers/activity.ts';

const LIMITS = { messageBytes: 1_000_000 };
const LARGE = 'y'.repeat(900_000);
/** More than are received at once. */
const UNFINISHED = 12;

test.each(['text/event-stream', 'application/json'])(
  'X-3, B-1: a server that never finishes its messages (%s) does not block others',
  async (type) => {
    let sent = 0;
    const bad = await oddServer({
      'tools/call': async ({ response }) => {
        if (type === 'text/event-stream') beginStream(response);
        else response.writeHead(200, { 'content-type': type });
        response.write(`${type === 'text/event-stream' ? 'data: ' : ''}{"text":"${LARGE}`);
        if (response.writableNeedDrain) await once(response, 'drain');
        sent += 1;
      },
    });
    const fine = owned(await startV1Http());
    const { url } = await httpGateway({ bad: { url: bad.url }, fine: { url: fine.url } }, { limits: LIMITS });
    const hub = await hubOverHttp(url);
    const calls = Array.from({ length: UNFINISHED }, () =>
      hub.call('execute_tool', { server: 'bad', tool: 'any', timeout_ms: 3000 }),
    );
    await expect.poll(() => sent, { timeout: 10_000 }).toBe(UNFINISHED);
    expect((await echo(hub, 'fine', LARGE)).length).toBe(LARGE.length);
    const failed = (await Promise.all(calls)).filter(({ isError }) => isError);
    for (const { text } of failed) expect(text).toContain('8 × limits.messageBytes');
  },
);
