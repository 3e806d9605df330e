import { expect, test } from 'vitest';
import { ATTACK_MS, attacked, hostileChild, MEGABYTE } from './attack.ts';

const LONG = { timeout: ATTACK_MS };

test('X-3, E-2: notifications of 30 MB are not stored', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { bytes: 30_000_000, count: 4 };
  const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'notify', args }, LONG);
  expect(reply.text).toBe('sent 4');
  expect(await attack.storeBytes()).toBeLessThan(16 * MEGABYTE);
  await attack.expectUnharmed();
});

test('X-3, E-2: a notification that is too large is shortened and marked', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { bytes: 1_000_000, count: 40 };
  const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'notify', args }, LONG);
  const { events } = reply;
  const kept = events.filter(({ type }) => type === 'notification');
  expect(kept.length).toBeGreaterThan(5);
  for (const { data } of kept) {
    expect(data['truncated']).toBe(true);
    expect(JSON.stringify(data).length).toBeLessThan(100_000);
  }
  const dropped = events.find(({ type }) => type === 'events_dropped');
  expect(kept.length + Number(dropped?.data['count'])).toBe(40);
  expect(await attack.storeBytes()).toBeLessThan(16 * MEGABYTE);
  await attack.expectUnharmed();
});

test('X-3, E-2: log messages of 10 MB are shortened', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { bytes: 10_000_000, count: 6 };
  const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'log', args }, LONG);
  expect(reply.text).toBe('sent 6');
  const { raw } = await attack.hub.call('get_logs', { server: 'bad' }, LONG);
  expect(JSON.stringify(raw).length).toBeLessThan(4 * MEGABYTE);
  expect(JSON.stringify(raw)).toContain('truncated');
  await attack.expectUnharmed();
});

test('X-3, E-2: a flood of notifications does not flood the gateway’s log', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { bytes: 10, count: 5000 };
  await attack.hub.call('execute_tool', { server: 'bad', tool: 'notify', args }, LONG);
  expect(attack.program.stderr.length).toBeLessThan(100);
  await attack.expectUnharmed();
});

test('X-3: a list with endless pages is refused', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild('pages'));
  const reply = await attack.hub.call('list_tools', { server: 'bad' }, LONG);
  expect(reply.isError).toBe(true);
  expect(reply.text).toContain('tools/list');
  expect(reply.text).toContain('is larger than');
  await attack.expectUnharmed();
});

test('X-3: a question of 50 MB is refused with an error to its server', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  for (const bytes of [50_000_000, 6_000_000]) {
    const args = { bytes };
    const reply = await attack.hub.call('execute_tool', { server: 'bad', tool: 'ask', args }, LONG);
    expect(reply.elicitations).toEqual([]);
    expect(reply.text).toMatch(/limits\.(messageBytes|questionBytes)/);
  }
  await attack.expectUnharmed();
});

test('X-3: a response that is too large fails only its own call', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  for (const [tool, bytes] of [
    ['result', 100_000_000],
    ['error', 40_000_000],
  ] as const) {
    const reply = await attack.hub.call('execute_tool', { server: 'bad', tool, args: { bytes } }, LONG);
    expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
    expect(reply.text).toContain('limits.messageBytes');
  }
  const long = await attack.hub.call(
    'execute_tool',
    { server: 'bad', tool: 'error', args: { bytes: 5_000_000 } },
    LONG,
  );
  expect(JSON.stringify(long.raw).length).toBeLessThan(20_000);
  const again = await attack.hub.call('execute_tool', { server: 'bad', tool: 'echo', args: { text: 'still here' } });
  expect(again.text).toBe('still here');
  await attack.expectUnharmed();
});

test('X-3: the number of open requests of a server is limited', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { count: 3000 };
  const call = { server: 'bad', tool: 'results', args, timeout_ms: ATTACK_MS };
  const task = await attack.hub.call('execute_tool', call, LONG);
  const { task_id } = (task.body['proxy_task'] ?? {}) as { task_id?: string };
  const refused = async (): Promise<number> => {
    const { text } = await attack.hub.call('get_task_result', { task_id, timeout_ms: 1000 }, LONG);
    return Number(/^refused (\d+)/.exec(text)?.[1] ?? 0);
  };
  await expect.poll(refused, LONG).toBeGreaterThan(2000);
  await attack.expectUnharmed();
});
