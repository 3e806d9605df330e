import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { isAlive } from '../../support/alive.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { defer, owned } from '../../support/owned.ts';
import { openStream, post, rawSession, send, toolCall, type RawSession } from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';
import { heard } from '../../support/unasked.ts';
import { ask } from './activity.ts';

const IDLE_MS = 60_000;
/** Longer than it takes until all sessions are there. */
const WORK_MS = 4000;
const SETTINGS = { sessions: { idleMs: IDLE_MS, checkMs: 20 } };

const lives = ({ gateway }: TestGateway, { id }: RawSession): boolean =>
  gateway.sessions.some((session) => session.id === id);

const ended = (running: TestGateway, session: RawSession): Promise<void> =>
  vi.waitFor(() => expect(lives(running, session)).toBe(false), { timeout: 10_000 });

test('S-4: an idle session ends with its child processes, and its id becomes invalid', async () => {
  const clock = new JumpingClock();
  const running = await httpGateway({ one: v1Stdio() }, SETTINGS, clock);
  const session = await rawSession(running.url);
  const pid = Number((await session.reply('execute_tool', { server: 'one', tool: 'pid' })).text);
  clock.jump(IDLE_MS);
  await ended(running, session);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 10_000);
  await vi.waitFor(() => expect(running.listener.counts).toEqual({ sessions: 0, streams: 0, requests: 0 }), 10_000);
  expect((await post(running.url, toolCall('list_tasks'), session.headers)).status).toBe(404);
  const stream = await openStream(running.url, { headers: { ...session.headers, accept: 'text/event-stream' } });
  expect(stream.status).toBe(404);
  expect((await send(running.url, { method: 'DELETE', headers: session.headers })).status).toBe(404);
  expect(running.logs.map(({ event }) => event)).toContain('session_timeout_cleanup');
});

test('S-4: the state of a modern client ends when idle, and its next request starts a new one', async () => {
  const clock = new JumpingClock();
  const running = await httpGateway({ one: v1Stdio() }, SETTINGS, clock);
  const hub = await hubOverHttp(running.url, 'modern');
  const pid = Number(await ask(hub, 'one', 'pid'));
  clock.jump(IDLE_MS);
  await vi.waitFor(() => expect(running.gateway.sessions).toEqual([]), { timeout: 10_000 });
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 10_000);
  expect(Number(await ask(hub, 'one', 'pid'))).not.toBe(pid);
});

test('S-4: a session with a working task, an open question or an open stream is not idle', async () => {
  const server = owned(await startV1Http());
  const clock = new JumpingClock();
  const running = await httpGateway({ one: { url: server.url } }, SETTINGS, clock);
  const execute = (session: RawSession, tool: string, args: object, timeout_ms?: number) =>
    session.reply('execute_tool', { server: 'one', tool, args, timeout_ms });

  const streaming = await rawSession(running.url);
  const stream = await openStream(running.url, { headers: { ...streaming.headers, accept: 'text/event-stream' } });
  expect(stream.status).toBe(200);
  const asking = await rawSession(running.url);
  const asked = await execute(asking, 'ask', {});
  const working = await rawSession(running.url);
  const task = taskIdOf(await execute(working, 'slow', { ms: WORK_MS, text: 'late' }, 0));
  const idle = await rawSession(running.url);

  clock.jump(IDLE_MS);
  await ended(running, idle);
  expect([streaming, asking, working].map((session) => lives(running, session))).toEqual([true, true, true]);

  stream.destroy();
  const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await asking.reply('respond_to_elicitation', answer);
  expect((await asking.reply('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');

  const { tasks } = running.gateway.sessions.find(({ id }) => id === working.id) ?? {};
  await vi.waitFor(() => expect(tasks?.get(task).status).toBe('completed'), { timeout: 10_000 });
  // Its client gets as long as any other to come for the result.
  clock.jump(IDLE_MS / 2);
  expect((await working.reply('get_task_result', { task_id: task })).text).toBe('late');
  clock.jump(IDLE_MS);
  for (const session of [streaming, asking, working]) await ended(running, session);
});

test('S-4: questions of a server do not keep an abandoned session alive', async () => {
  const server = owned(await startV1Http());
  const questions = { timeoutMs: IDLE_MS / 2 };
  const clock = new JumpingClock();
  const running = await httpGateway({ one: { url: server.url } }, { ...SETTINGS, questions }, clock);
  const session = await rawSession(running.url);
  await session.reply('list_tools');
  const modern = await hubOverHttp(running.url, 'modern');
  await modern.call('list_tools');
  const requestedSchema = { type: 'object' as const, properties: {} };
  const asking = setInterval(() => {
    for (const each of server.state.sessions) {
      each.server.elicitInput({ message: 'Still there?', requestedSchema }).catch(() => {
        // It expires, or the session has ended.
      });
    }
  }, 100);
  defer(async () => clearInterval(asking));
  const [kept] = running.gateway.sessions;
  await vi.waitFor(() => expect(kept?.interactions.size).toBeGreaterThan(0), { timeout: 10_000 });
  clock.jump(IDLE_MS);
  await vi.waitFor(() => expect(running.gateway.sessions).toEqual([]), { timeout: 10_000 });
});

test('S-4: a question keeps a session only if it was open when the client left', async () => {
  const server = owned(await startV1Http());
  const questions = { timeoutMs: 3 * IDLE_MS };
  const clock = new JumpingClock();
  const running = await httpGateway({ one: { url: server.url } }, { ...SETTINGS, questions }, clock);
  const session = await rawSession(running.url);
  await session.reply('list_tools', { server: 'one' });
  const [open] = running.gateway.sessions;
  if (open) await heard(server, open, 'one');
  // The first one was only probed.
  const asker = [...server.state.sessions].at(-1)?.server;
  const requestedSchema = { type: 'object' as const, properties: {} };
  const failure = async (message: string): Promise<unknown> =>
    asker?.elicitInput({ message, requestedSchema }).catch((error: unknown) => String(error));
  const first = failure('before it leaves');
  await vi.waitFor(
    async () => expect((await session.reply('get_elicitations')).body['elicitations']).toHaveLength(1),
    10_000,
  );
  clock.jump(2 * IDLE_MS);
  expect(lives(running, session)).toBe(true);
  const second = failure('after it left');
  await vi.waitFor(() => expect(open?.interactions.size).toBe(2), { timeout: 10_000 });
  clock.jump(IDLE_MS);
  expect(await first).toContain('in time');
  clock.jump(IDLE_MS);
  await ended(running, session);
  expect(await second).not.toContain('in time');
});

test('S-4: a session is not idle while its client waits', async () => {
  const clock = new JumpingClock();
  const running = await httpGateway({}, SETTINGS, clock);
  const session = await rawSession(running.url);
  const reply = session.reply('await_activity', { timeout_ms: 2 * IDLE_MS });
  const [waiting] = running.gateway.sessions;
  await vi.waitFor(() => expect(waiting?.busy).toBe(true), { timeout: 10_000 });
  clock.jump(IDLE_MS);
  expect(lives(running, session)).toBe(true);
  clock.jump(IDLE_MS);
  const { body } = await reply;
  expect(body['triggers']).toEqual([{ type: 'timeout' }]);
});
