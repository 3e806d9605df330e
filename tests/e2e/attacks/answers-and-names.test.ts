import { expect, test } from 'vitest';
import { ATTACK_MS, attacked, hostileChild } from './attack.ts';

const LONG = { timeout: ATTACK_MS };

test('X-3, H-9: an answer with many invalid values gets a short error', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const args = { choices: 200 };
  const asked = await attack.hub.call('execute_tool', { server: 'bad', tool: 'choose', args }, LONG);
  const request_id = asked.elicitations[0]?.requestId;
  const content = { picked: Array.from({ length: 400_000 }, () => 'none') };
  const reply = await attack.hub.call('respond_to_elicitation', { request_id, action: 'accept', content }, LONG);
  expect(reply.code).toBe('TOOL_ERR_INVALID_ANSWER');
  expect(reply.text).toContain('choice number 0');
  expect(reply.text.length).toBeLessThan(5000);
  await attack.expectUnharmed();
});

test('X-3: a call with very many invalid arguments gets a short error', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild());
  const content = Array.from({ length: 200_000 }, () => ({ x: 1 }));
  const calls: [string, Record<string, unknown>][] = [
    ['respond_to_sampling', { request_id: 'x', content }],
    ['list_tools', Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`argument ${i}`, 1]))],
    ['await_activity', { timeout_ms: 'x'.repeat(3_000_000) }],
    ['respond_to_elicitation', { request_id: 'x', action: 'x'.repeat(3_000_000) }],
  ];
  for (const [tool, args] of calls) {
    const reply = await attack.hub.call(tool, args, LONG);
    expect(reply.isError, tool).toBe(true);
    expect(JSON.stringify(reply.raw).length, tool).toBeLessThan(10_000);
  }
  await attack.expectUnharmed();
});

test('X-3, H-8: a tool whose name is too long is not listed', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild('long-name'));
  const pattern = `${'*x'.repeat(60)}*y`;
  const none = await attack.hub.call('list_tools', { server: 'bad', pattern }, LONG);
  expect(none.body['tools']).toEqual([]);
  const { body } = await attack.hub.call('list_tools', { server: 'bad' }, LONG);
  expect(body['tools']).toEqual([expect.objectContaining({ name: 'echo' })]);
  await attack.expectUnharmed();
});

test('X-3, H-8: a list with 300,000 entries is refused', { timeout: ATTACK_MS }, async () => {
  const attack = await attacked(hostileChild('many-names'));
  const reply = await attack.hub.call('list_tools', { server: 'bad' }, LONG);
  expect(reply.isError).toBe(true);
  expect(reply.text).toContain('more than 100000 entries');
  await attack.expectUnharmed();
});
