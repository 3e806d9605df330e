import { describe, expect, test } from 'vitest';
import { TaskClient } from '../../../src/client/task-client.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import {
  errorOf,
  JSON_HEADERS,
  modernCall,
  modernHeaders,
  post,
  rawSession,
  replyOf,
  send,
  toolCall,
  type RawAnswer,
} from '../../support/raw-http.ts';
import { deepServer, type DeepServer } from './deep-server.ts';

const TOO_DEEP = 'nested more than 1000 levels deep';

/** Of a call that never ends, no test has to wait for the end. */
const SOON = { timeout: 8000 };

async function setup(): Promise<{ deep: DeepServer; url: string; hub: HubClient }> {
  const deep = await deepServer();
  const fine = owned(await startV1Http());
  const { url } = await httpGateway({ deep: { url: deep.url }, fine: { url: fine.url } });
  return { deep, url, hub: await hubOverHttp(url) };
}

/** Everything that a session tells can be told. */
async function isWell(hub: HubClient): Promise<void> {
  for (const [tool, args] of [
    ['list_tasks', { include_completed: true }],
    ['get_logs', {}],
    ['get_notifications', { include_delivered: true }],
    ['get_elicitations', {}],
  ] as const) {
    const reply = await hub.call(tool, args, SOON);
    expect(reply.isError, `${tool}: ${reply.text}`).toBe(false);
    expect(reply.elicitations).toEqual([]);
  }
  const fine = await hub.call('execute_tool', { server: 'fine', tool: 'echo', args: { text: 'not harmed' } }, SOON);
  expect(fine.text).toBe('not harmed');
}

test.each(['result', 'error'])('X-4, B-6: a call whose %s is nested too deeply ends with an error', async (tool) => {
  const { hub } = await setup();
  const reply = await hub.call('execute_tool', { server: 'deep', tool }, SOON);
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(reply.text).toContain(TOO_DEEP);
  await isWell(hub);
});

test.each(['result', 'error'])(
  'X-4, D-1: a call of the direct endpoint whose %s is nested too deeply ends with an error',
  async (tool) => {
    const { url } = await setup();
    const direct = `${url}/deep`;
    const { headers } = await rawSession(direct);
    const answer = await post(direct, toolCall(tool), headers);
    expect(errorOf(answer).message).toContain(TOO_DEEP);
    expect((await post(direct, toolCall('echo', {}, 2), headers)).json).toHaveProperty('result');
  },
);

test('X-4, C-1: a call of the client library whose result is nested too deeply ends with an error', async () => {
  const deep = await deepServer();
  const client = new TaskClient({ url: deep.url });
  defer(async () => client.disconnect());
  await expect(client.callTool('result')).rejects.toThrow(TOO_DEEP);
});

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

describe.each(['legacy', 'modern'] as const)('client arguments that are nested too deeply (%s)', (era) => {
  /** Sends a call whose arguments, as text, may be deeper than JSON.stringify can write. */
  async function call(url: string, tool: string, args: string): Promise<RawAnswer> {
    const message = JSON.stringify(era === 'modern' ? modernCall(tool) : toolCall(tool));
    const headers = era === 'modern' ? modernHeaders(tool) : (await rawSession(url)).headers;
    const body = message.replace('"arguments":{}', `"arguments":${args}`);
    return send(url, { headers: { ...JSON_HEADERS, ...headers }, body });
  }

  test('X-4, H-12: get an invalid argument error at the hub', async () => {
    const { url } = await setup();
    for (const levels of [1001, 20_000]) {
      const args = `{"server":"fine","tool":"echo","args":{"text":"hello","deep":${nested(levels)}}}`;
      const reply = replyOf(await call(url, 'execute_tool', args));
      expect(reply, `${levels} levels`).toMatchObject({ isError: true, code: 'TOOL_ERR_INVALID_ARGUMENT' });
      expect(reply.text).toContain(TOO_DEEP);
    }
  });

  test('X-4, D-5: get an error at the direct endpoint, and less deeply nested ones reach the server', async () => {
    const { url } = await setup();
    const echo = async (levels: number): Promise<RawAnswer> =>
      call(`${url}/fine`, 'echo', `{"text":"hello","deep":${nested(levels)}}`);
    for (const levels of [1001, 20_000]) {
      const error = { code: -32602, message: expect.stringContaining(TOO_DEEP) };
      expect(errorOf(await echo(levels)), `${levels} levels`).toMatchObject(error);
    }
    expect((await echo(900)).json['result']).toMatchObject({ content: [{ text: 'hello' }] });
  });
});

test.each(['notification', 'log'])(
  'X-4, X-3: a %s that is nested too deeply is dropped, and the session continues',
  async (tool) => {
    const { hub } = await setup();
    expect((await hub.call('execute_tool', { server: 'deep', tool }, SOON)).text).toBe('done');
    await isWell(hub);
  },
);

test('X-4, X-3: a question that is nested too deeply is refused, and the session continues', async () => {
  const { deep, hub } = await setup();
  const reply = await hub.call('execute_tool', { server: 'deep', tool: 'question' }, SOON);
  expect(reply.text).toBe('done');
  expect(deep.answers).toEqual([expect.objectContaining({ id: 'q', error: expect.anything() })]);
  await isWell(hub);
});
