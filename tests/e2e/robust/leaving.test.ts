import { expect, test, vi } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import {
  errorOf,
  INITIALIZE,
  modernCall,
  modernHeaders,
  post,
  rawSession,
  send,
  toolCall,
  type RawAnswer,
  type RawSession,
} from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';

/** A child that does not want to go: what ends it takes a while. */
const STUBBORN = v1Stdio({ TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' });

async function setup(): Promise<{ running: TestGateway; client: RawSession; pid: number }> {
  const running = await httpGateway({ stubborn: STUBBORN });
  const client = await rawSession(running.url);
  const pid = Number((await client.reply('execute_tool', { server: 'stubborn', tool: 'pid' })).text);
  return { running, client, pid };
}

/** Nobody listens any more, or somebody says why not. */
async function isTurnedAway(answer: Promise<RawAnswer>): Promise<boolean> {
  return answer.then(
    ({ status, headers }) => status === 503 && headers['mcp-session-id'] === undefined,
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  );
}

test('S-4: a gateway that stops accepts no new clients', async () => {
  const { running, pid } = await setup();
  const closing = running.close();
  const turnedAway = await Promise.all([
    isTurnedAway(send(`${new URL(running.url).origin}/readyz`, { method: 'GET' })),
    isTurnedAway(post(running.url, INITIALIZE)),
    isTurnedAway(post(running.url, modernCall('list_servers'), modernHeaders('list_servers'))),
  ]);
  expect(isAlive(pid)).toBe(true);
  expect(turnedAway).toEqual([true, true, true]);
  await closing;
  expect(running.gateway.sessions).toEqual([]);
  expect(running.listener.counts).toEqual({ sessions: 0, streams: 0, requests: 0 });
  expect(isAlive(pid)).toBe(false);
});

test('S-4, H-12: a session that is being deleted answers no requests', async () => {
  const { running, client, pid } = await setup();
  const deleting = send(running.url, { method: 'DELETE', headers: client.headers });
  await vi.waitFor(() => expect(running.gateway.sessions).toEqual([]), 10_000);
  for (const [tool, args] of [
    ['execute_tool', { server: 'stubborn', tool: 'pid' }],
    ['list_tools', {}],
  ] as const) {
    const answer = await post(running.url, toolCall(tool, args), client.headers);
    if (answer.status === 404) expect(errorOf(answer).code).toBe(-32001);
    else expect(answer.text).toContain('TOOL_ERR_SESSION_NOT_FOUND');
  }
  expect(isAlive(pid)).toBe(true);
  expect((await deleting).status).toBe(200);
  expect(isAlive(pid)).toBe(false);
});
