import { join } from 'node:path';
import { expect, test } from 'vitest';
import { orderedId } from '../../../src/lib/ids.ts';
import { createLog } from '../../../src/lib/log.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { event, session, task } from '../../support/records.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { serveProgram } from '../../support/program.ts';
import { JSON_HEADERS, post, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';
import { ATTACK_MS, attacked, bytesOf, hostileChild, MEGABYTE } from './attack.ts';

/** Large arguments for a call that never ends. */
const large = (bytes: number) => ({ server: 'bad', tool: 'never', args: { text: 'x'.repeat(bytes) }, timeout_ms: 1 });

test('X-3, T-2: tasks with large arguments are refused before they start', { timeout: ATTACK_MS }, async () => {
  const limits = { sessionBytes: 8 * MEGABYTE, totalBytes: 32 * MEGABYTE };
  const attack = await attacked(hostileChild(), { limits });
  const replies: string[] = [];
  for (let clients = 0; clients < 6; clients += 1) {
    const client = await rawSession(attack.url);
    for (let tasks = 0; tasks < 14; tasks += 1) {
      const reply = await client.reply('execute_tool', large(0.75 * MEGABYTE));
      replies.push(reply.code ?? 'task');
      if (reply.isError) expect(reply.text).toMatch(/limits\.(sessionBytes|totalBytes)/);
    }
  }
  expect(replies.filter((code) => code === 'task').length).toBeGreaterThan(9);
  expect(replies.filter((code) => code === 'TOOL_ERR_LIMIT').length).toBeGreaterThan(20);
  expect(await attack.storeBytes()).toBeLessThan(64 * MEGABYTE);
  await attack.expectUnharmed();
});

test('X-3, P-3: a full store refuses new tasks and does not grow', { timeout: ATTACK_MS }, async () => {
  const storeBytes = 8 * MEGABYTE;
  const attack = await attacked(hostileChild(), { limits: { storeBytes } });
  const client = await rawSession(attack.url);
  const codes: (string | undefined)[] = [];
  let refusal = '';
  for (let tasks = 0; tasks < 8; tasks += 1) {
    const reply = await client.reply('execute_tool', large(2 * MEGABYTE));
    codes.push(reply.code);
    if (reply.isError) refusal = reply.text;
  }
  expect(codes[0]).toBeUndefined();
  expect(codes.at(-1)).toBe('TOOL_ERR_STORE');
  expect(refusal).toContain(`limits.storeBytes = ${storeBytes}`);
  expect(await attack.storeBytes()).toBeLessThan(4 * storeBytes);
  await attack.expectUnharmed();
});

test('X-3, P-3: a full store blocks no client', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild(), { limits: { storeBytes: 8 * MEGABYTE } });
  const hostile = await Promise.all([1, 2, 3].map(() => rawSession(attack.url)));
  for (const client of hostile) {
    const calls = Array.from({ length: 7 }, () => client.reply('execute_tool', large(3 * MEGABYTE)));
    await Promise.all(calls);
    expect((await client.reply('execute_tool', large(3 * MEGABYTE))).code).toBe('TOOL_ERR_STORE');
  }
  const honest = await hubOverHttp(attack.url);
  for (let round = 0; round < 20; round += 1) {
    const slow = { server: 'fine', tool: 'slow', args: { ms: 60_000, text: 'later' }, timeout_ms: 1 };
    const taskId = taskIdOf(await honest.call('execute_tool', slow, { timeout: ATTACK_MS }));
    const cancelled = await honest.call('cancel_task', { task_id: taskId }, { timeout: ATTACK_MS });
    expect(cancelled.isError, cancelled.text).toBe(false);
  }
  expect(await attack.longestStallMs()).toBeLessThan(1000);
  await attack.expectUnharmed();
});

test(
  'X-3, P-2: an oversized store prevents neither the start nor the return of a client',
  {
    timeout: ATTACK_MS,
  },
  async () => {
    const heapMegabytes = 144;
    const path = join(await temporaryFolder(), 'store.db');
    const store = await openSqliteStore({ path, log: createLog('silent') });
    const client = { protocolVersion: '2025-11-25', capabilities: {} };
    const text = 'x'.repeat(2.5 * MEGABYTE);
    store.put('session', { ...session('poisoned'), lastActiveAt: Date.now(), owner: { kind: 'client', client } });
    for (let n = 0; n < 50; n += 1) {
      store.put('event', { ...event(orderedId(), 'poisoned'), type: 'notification', data: { text } });
      await store.settled();
    }
    for (let n = 10; n < 20; n += 1) store.put('task', { ...task(`t${n}`, 'poisoned'), args: { text } });
    await store.close();
    expect(await bytesOf(path)).toBeGreaterThan(heapMegabytes * MEGABYTE);

    const limits = { sessionBytes: 8 * MEGABYTE, totalBytes: 32 * MEGABYTE };
    const config = await configFile({}, { store: path, limits });
    const { url, child } = await serveProgram(['--config', config, '--log-level', 'info'], {
      env: { NODE_OPTIONS: `--max-old-space-size=${heapMegabytes}` },
    });
    const headers = { ...JSON_HEADERS, 'mcp-session-id': 'poisoned', 'mcp-protocol-version': '2025-11-25' };
    const reply = replyOf(await post(url, toolCall('list_tasks', { include_completed: true }), headers));
    expect(reply.isError).toBe(false);
    expect(JSON.stringify(reply.body)).toContain('t10');
    const dropped = reply.events.find(({ type }) => type === 'events_dropped');
    expect(Number(dropped?.data['count'])).toBeGreaterThan(40);
    const gone = replyOf(await post(url, toolCall('get_task_result', { task_id: 't10' }, 2), headers));
    expect(gone.text).toContain('limits.sessionBytes');
    expect(child.exitCode).toBeNull();
  },
);
