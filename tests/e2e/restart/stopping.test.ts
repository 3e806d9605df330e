import { once } from 'node:events';
import { request } from 'node:http';
import { expect, test, vi } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf, type Json } from '../../support/hub.ts';
import { defer } from '../../support/owned.ts';
import { modernCall, modernHeaders, post, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';
import { storedIn } from '../../support/records.ts';

/** Takes seconds to leave, so that there is time for requests in between. */
const SLOW_TO_LEAVE = v1Stdio({ TEST_IGNORE_STDIN_END: '1', TEST_IGNORE_SIGTERM: '1' });

const ECHO = { server: 'one', tool: 'echo', args: { text: 'here' } };
const SLOW = { server: 'one', tool: 'slow', args: { ms: 60_000 } };

interface HalfSent {
  finish(): Promise<{ status: number | undefined; text: string }>;
}

/** A request that the gateway has begun to read; the rest comes when the test says so. */
async function halfSent(url: string, message: Json, headers: Record<string, string>): Promise<HalfSent> {
  const body = JSON.stringify(message);
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const sent = request(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, ...length, expect: '100-continue' },
  });
  defer(async () => void sent.destroy());
  const answered = new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    sent.once('error', reject).once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode, text }));
    });
  });
  answered.catch(() => {});
  sent.flushHeaders();
  await once(sent, 'continue');
  return {
    finish: async () => {
      sent.end(body);
      return answered;
    },
  };
}

test('P-2, S-1, S-4: while the gateway stops, no client gets an error that its session is unknown', async () => {
  const gateway = await httpGateway({ one: SLOW_TO_LEAVE });
  const session = await rawSession(gateway.url);
  expect((await session.reply('execute_tool', ECHO)).text).toBe('here');
  const late = await halfSent(gateway.url, toolCall('list_tasks', {}, 'late'), session.headers);
  const last = await halfSent(gateway.url, toolCall('list_tasks', {}, 'last'), session.headers);
  const open = post(gateway.url, toolCall('execute_tool', SLOW, 'open'), session.headers);
  await vi.waitFor(() => {
    const started = gateway.logs.filter(({ event }) => event === 'tool_execution_start');
    expect(started.map(({ data }) => data?.['tool'])).toEqual(['echo', 'slow']);
  }, 10_000);
  gateway.listener.stopListening();
  const closing = { over: false };
  const closed = gateway.gateway.close('the gateway is shutting down').finally(() => {
    closing.over = true;
  });
  const { status, text } = await late.finish();
  expect(closing.over).toBe(false);
  expect(status).not.toBe(404);
  expect(text).toContain('TOOL_ERR_SHUTTING_DOWN');
  await closed;
  const begun = await open;
  expect(begun.status).not.toBe(404);
  expect(begun.text).not.toContain('SESSION_NOT_FOUND');
  // Its sessions are closed, its door is not yet.
  const refused = await last.finish();
  expect(refused.status).toBe(503);
  expect(refused.text).toContain('TOOL_ERR_SHUTTING_DOWN');
});

test('P-3, S-4, S-5: a task that a modern client starts while its idle session ends is kept', async () => {
  const gateway = await httpGateway({ one: SLOW_TO_LEAVE });
  const call = async (args: Json) =>
    replyOf(await post(gateway.url, modernCall('execute_tool', args), modernHeaders('execute_tool')));
  expect((await call(ECHO)).text).toBe('here');
  const [first] = gateway.gateway.sessions;
  if (first === undefined) throw new Error('there is no session');
  const ending = gateway.gateway.end(first, 'the session was idle');
  const id = taskIdOf(await call({ ...SLOW, timeout_ms: 1 }));
  await ending;
  expect((await storedIn(gateway.gateway, 'task')).map((task) => task.id)).toEqual([id]);
  const sessions = await storedIn(gateway.gateway, 'session');
  expect(sessions.map((session) => session.id)).toEqual(gateway.gateway.sessions.map((s) => s.id));
  expect(gateway.gateway.sessions).toHaveLength(1);
});
