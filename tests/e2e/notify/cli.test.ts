/** `meanwhile notify`, as people run it. */
import { expect, test } from 'vitest';
import { countDropped } from '../../../src/core/notify/dropped.ts';
import { runCommand } from '../../support/command.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { Receiver } from '../../support/receiver.ts';
import { servers } from '../console/setup.ts';
import { nextTold, SECRET, target } from './setup.ts';

test('N-1: notify test sends a message to every target and prints the outcome of each', async () => {
  const [good, bad] = [await Receiver.start(), await Receiver.start()];
  bad.always = 500;
  const config = await configFile({}, { notify: { targets: { good: target(good), bad: target(bad) } } });
  const { code, stdout } = await runCommand(['notify', 'test', '--config', config]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^good +webhook +sent in \d+ ms *\nbad +webhook +failed: HTTP 500: \{\}/);
  expect(stdout).not.toContain(SECRET);
  expect(good.received.map(({ body }) => body)).toMatchObject([{ type: 'test', data: { target: 'good' } }]);
  const one = await runCommand(['notify', 'test', 'good', '--config', config, '--json']);
  expect([one.code, JSON.parse(one.stdout)]).toMatchObject([0, { targets: [{ target: 'good', type: 'webhook' }] }]);
  expect([good.received.length, bad.received.length]).toEqual([2, 1]);
});

test('N-1: notify list shows waiting messages and the reason', async () => {
  const hook = await Receiver.start();
  hook.always = 503;
  const { config } = await servers();
  const gateway = await httpGateway(config, { notify: { targets: { hook: target(hook) } } });
  const hub = await hubOverHttp(gateway.url);
  await hub.call('execute_tool', { server: 'old', tool: 'ask', args: {} });
  const { data } = await nextTold(hook, 'question.opened');
  await expect.poll(async () => (await gateway.gateway.store.outbox.list(1))[0]?.error).toBeDefined();
  const flags = ['--url', gateway.url, '--token', gateway.console.key];
  const { code, stdout } = await runCommand(['notify', 'list', ...flags]);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`hook +question ${data['questionId']} +waiting +1 .*HTTP 503`));
});

test('N-1: notify list shows the number of dropped messages', async () => {
  const hook = await Receiver.start();
  const gateway = await httpGateway({}, { notify: { targets: { hook: target(hook) } } });
  const flags = ['--url', gateway.url, '--token', gateway.console.key];
  const none = await runCommand(['notify', 'list', ...flags]);
  expect([none.code, none.stdout]).toEqual([0, expect.not.stringContaining('dropped')]);
  await countDropped(gateway.gateway.store, Date.now(), 7);
  const { code, stdout } = await runCommand(['notify', 'list', ...flags]);
  expect(code).toBe(0);
  expect(stdout).toContain('7 dropped since yesterday (UTC) because too many were queued.');
  const json = await runCommand(['notify', 'list', '--json', ...flags]);
  expect(JSON.parse(json.stdout)).toEqual({ notifications: [], dropped: 7 });
});

test.each([
  [['notify'], 'expected meanwhile notify test [target], or meanwhile notify list [url]'],
  [['notify', 'test', 'phne'], "has no target 'phne'; did you mean 'phone'?"],
])('N-1: a mistake is an error that names it: %j', async (args, message) => {
  const targets = { phone: { type: 'ntfy', url: 'https://ntfy.sh/topic' } };
  const config = await configFile({}, { notify: { targets } });
  const { code, stderr } = await runCommand([...args, '--config', config]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('N-1: notify test without targets names the setting', async () => {
  const config = await configFile({});
  const { code, stderr } = await runCommand(['notify', 'test', '--config', config]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('add them to meanwhile.notify.targets')]);
});
