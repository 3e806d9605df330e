import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Reply } from '../../support/hub.ts';
import { beginStream, oddModernServer, oddServer, sendEvent, textResult } from '../robust/odd-server.ts';
import { ATTACK_MS, attacked, MEGABYTE } from './attack.ts';

const LONG = { timeout: ATTACK_MS };

/** Writes the same text until so much was taken, or the reader is gone. */
async function pour(response: ServerResponse, text: string, bytes: number): Promise<void> {
  const left = once(response, 'close');
  const chunk = Buffer.from(text.repeat(Math.ceil(MEGABYTE / text.length)));
  for (let poured = 0; poured < bytes && !response.destroyed; poured += chunk.length) {
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), left]);
  }
}

test('X-3: three streams of endless data lines do no harm', { timeout: ATTACK_MS }, async () => {
  const bad = await oddServer({
    'tools/call': async ({ message, response }) => {
      beginStream(response);
      response.write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(message['id'])},\n`);
      await pour(response, 'data:\n', 8 * MEGABYTE);
      response.write('data: "result":{}}\n\n');
    },
  });
  const attack = await attacked({ url: bad.url }, { limits: { messageBytes: 4 * MEGABYTE } });
  const replies = await Promise.all(
    [1, 2, 3].map(() => attack.hub.call('execute_tool', { server: 'bad', tool: 'any' }, LONG)),
  );
  for (const reply of replies) {
    expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
    expect(reply.text).toContain('limits.messageBytes');
  }
  await attack.expectUnharmed();
});

test('X-3: an event that is too large is dropped, and its call continues', { timeout: ATTACK_MS }, async () => {
  const bad = await oddServer({
    'tools/call': async ({ message, response }) => {
      beginStream(response);
      response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"');
      await pour(response, 'x', 60 * MEGABYTE);
      response.write('"}}\n\n');
      sendEvent(response, { id: message['id'], result: textResult('done') });
      response.end();
    },
  });
  const attack = await attacked({ url: bad.url });
  const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'any' }, LONG);
  expect(reply.text).toBe('done');
  await attack.expectUnharmed();
});

test('X-3: a JSON response that is too large fails only its own call', { timeout: ATTACK_MS }, async () => {
  const bad = await oddServer({
    'tools/call': async ({ params, reply, response }) => {
      if (params['name'] === 'echo') {
        reply(textResult('still here'));
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      await pour(response, 'x', 60 * MEGABYTE);
      response.end();
    },
  });
  const attack = await attacked({ url: bad.url });
  const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'any' }, LONG);
  expect(reply.text).toContain('limits.messageBytes');
  const again = await attack.hub.call('execute_tool', { server: 'bad', tool: 'echo' }, LONG);
  expect(again.text).toBe('still here');
  await attack.expectUnharmed();
});

/** How many requests a server gets at once from one session. */
const MAX_SOCKETS = 256;

test(
  'X-3, B-1: the sockets to one server are limited, and every call is answered',
  { timeout: ATTACK_MS },
  async () => {
    const waiting: (() => void)[] = [];
    let most = 0;
    let holding = true;
    const server = await oddServer({
      'tools/call': ({ reply }) => {
        const answer = (): void => reply(textResult('done'));
        if (!holding) {
          answer();
          return;
        }
        waiting.push(answer);
        most = Math.max(most, waiting.length);
      },
    });
    const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 1000 } });
    const hub = await hubOverHttp(url);
    const call = (): Promise<Reply> => hub.call('execute_tool', { server: 'one', tool: 'any' }, LONG);
    const replies = Array.from({ length: MAX_SOCKETS + 100 }, call);
    await expect.poll(() => waiting.length, { timeout: ATTACK_MS }).toBe(MAX_SOCKETS);
    holding = false;
    for (const answer of waiting) answer();
    expect((await Promise.all(replies)).every(({ text }) => text === 'done')).toBe(true);
    expect(most).toBe(MAX_SOCKETS);
  },
);

test(
  'X-3, B-2: a broken standing stream is reopened while calls use every socket',
  { timeout: ATTACK_MS },
  async () => {
    const waiting: (() => void)[] = [];
    const streams: ServerResponse[] = [];
    const server = await oddServer({
      GET: ({ response }) => {
        beginStream(response);
        streams.push(response);
        if (streams.length > 1) for (const answer of waiting.splice(0)) answer();
      },
      'tools/call': ({ reply }) => {
        const answer = (): void => reply(textResult('done'));
        if (streams.length > 1) answer();
        else waiting.push(answer);
      },
    });
    const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 1000 } });
    const hub = await hubOverHttp(url);
    const args = { server: 'one', tool: 'any', timeout_ms: 20_000 };
    const replies = Array.from({ length: MAX_SOCKETS + 10 }, () => hub.call('execute_tool', args, LONG));
    await expect.poll(() => waiting.length, { timeout: ATTACK_MS }).toBe(MAX_SOCKETS);
    streams[0]?.destroy();
    expect(new Set((await Promise.all(replies)).map(({ text }) => text))).toEqual(new Set(['done']));
  },
);

test('X-3, B-3: a resource can be subscribed to while calls use every socket', { timeout: ATTACK_MS }, async () => {
  const waiting: (() => void)[] = [];
  const capabilities = { tools: {}, resources: { subscribe: true } };
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const server = await oddModernServer({
    'server/discover': ({ reply }) => reply({ ...complete, supportedVersions: ['2026-07-28'], capabilities }),
    'subscriptions/listen': ({ message, params, response }) => {
      beginStream(response);
      sendEvent(response, {
        method: 'notifications/subscriptions/acknowledged',
        params: {
          notifications: params['notifications'],
          _meta: { 'io.modelcontextprotocol/subscriptionId': message['id'] },
        },
      });
    },
    'tools/call': ({ reply }) => void waiting.push(() => reply({ ...complete, ...textResult('done') })),
  });
  const { url } = await httpGateway({ one: { url: server.url } }, { tasks: { perSession: 1000 } });
  const hub = await hubOverHttp(url);
  const replies = Array.from({ length: MAX_SOCKETS }, () =>
    hub.call('execute_tool', { server: 'one', tool: 'any', timeout_ms: 20_000 }, LONG),
  );
  await expect.poll(() => waiting.length, { timeout: ATTACK_MS }).toBe(MAX_SOCKETS);
  const subscribed = await hub.call('subscribe_resource', { server: 'one', uri: 'test://one' }, LONG);
  expect(subscribed.isError, subscribed.text).toBe(false);
  for (const answer of waiting) answer();
  expect(new Set((await Promise.all(replies)).map(({ text }) => text))).toEqual(new Set(['done']));
});
