/** `meanwhile status` and `meanwhile watch` at a real gateway. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { runCommand } from '../../../support/command.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { startProgram } from '../../../support/program.ts';
import { programInTerminal } from '../../../support/terminal.ts';

test('W-3, W-6: the screen follows a slow call from its begin to its end, and a question to its answer', async () => {
  const server = owned(await startV1Http());
  const { url, console } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'v1', {}, 'editor');
  const flags = ['--url', url, '--token', console.key];
  const terminal = await programInTerminal(['watch', ...flags]);
  const lines = await startProgram(['watch', ...flags]);
  await terminal.shows('nothing is running');
  const slow = { server: 'one', tool: 'slow', args: { ms: 4000, steps: 4 }, timeout_ms: 100 };
  const task = taskIdOf(await hub.call('execute_tool', slow));
  await terminal.shows(/one slow {2}\ds {2}█{5}░{15} {2}25% {2}editor \(local\) {2}running {2}step 1/);
  const { stdout } = await runCommand(['status', '--json', ...flags]);
  expect(JSON.parse(stdout)).toMatchObject({
    calls: [{ taskId: task, status: 'running', tool: 'slow' }],
    servers: [{ name: 'one', state: 'connected' }],
    sessions: [{ program: 'editor', tasks: { running: 1 } }],
  });
  await terminal.shows(/one slow {2}\ds ago {2}took [4-9]s {2}editor \(local\) {2}completed/);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  await terminal.shows(/1 question waits[^\n]*\n {2}one ask {2}\ds, [^\n]* left {2}What is your name\?/);
  await terminal.shows('calls: 0 running, 1 waiting');
  const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', answer);
  await terminal.shows(/one ask +\ds ago/);
  await terminal.shows('no question waits');
  await expect.poll(() => lines.stdout.join('\n')).toMatch(/one ask {2}completed/);
  expect(lines.stdout.join('\n')).toMatch(
    /one ask {2}question {2}asks: What is your name\? {2}\(meanwhile inbox \S+\)/,
  );
  expect(lines.stdout.join('\n')).toMatch(/question {2}already answered by local with the tools of the hub/);
  terminal.type('q');
  expect((await terminal.ended()).code).toBe(0);
  expect(await lines.stop()).toBe(0);
});
