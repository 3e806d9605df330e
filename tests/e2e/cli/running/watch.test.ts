/** `meanwhile status` and `meanwhile watch` at a real gateway. */
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { runCommand } from '../../../support/command.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { startProgram } from '../../../support/program.ts';
import { programInTerminal } from '../../../support/terminal.ts';

async function watched() {
  const server = owned(await startV1Http());
  const { url, console } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'v1', {}, 'editor');
  return { hub, flags: ['--url', url, '--token', console.key] };
}

test('W-3, W-6: watch follows a slow call from its start to its end', async () => {
  const { hub, flags } = await watched();
  const terminal = await programInTerminal(['watch', ...flags]);
  await terminal.shows('no running calls');
  const slow = { server: 'one', tool: 'slow', args: { ms: 600_000, steps: 1200 }, timeout_ms: 100 };
  const task = taskIdOf(await hub.call('execute_tool', slow));
  await terminal.shows(/one slow {2}\d+s {2}[█░]{20} +\d+% {2}editor \(local\) {2}running {2}step \d+/);
  const status = async (): Promise<unknown> =>
    JSON.parse((await runCommand(['status', '--json', ...flags])).stdout) as unknown;
  // The history is written a moment after the reply that names the task.
  await expect.poll(status).toMatchObject({
    calls: [{ taskId: task, status: 'running', tool: 'slow' }],
    servers: [{ name: 'one', state: 'connected' }],
    sessions: [{ program: 'editor', tasks: { running: 1 } }],
  });
  await hub.call('cancel_task', { task_id: task });
  await terminal.shows(/one slow {2}\d+s ago {2}took \d+s {2}editor \(local\) {2}cancelled/);
  await terminal.shows('no running calls');
  terminal.type('q');
  expect((await terminal.ended()).code).toBe(0);
});

test('W-3, W-6: watch follows a question from its start to its answer, on the screen and as lines', async () => {
  const { hub, flags } = await watched();
  const terminal = await programInTerminal(['watch', ...flags]);
  const lines = await startProgram(['watch', ...flags]);
  await terminal.shows('no running calls');
  // The lines have begun once they show a call.
  await vi.waitFor(
    async () => {
      await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
      expect(lines.stdout.length).toBeGreaterThan(0);
    },
    { timeout: 15_000, interval: 500 },
  );
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  await terminal.shows(/1 open question[^\n]*\n {2}one ask {2}\d+s, [^\n]* left {2}What is your name\?/);
  await terminal.shows('calls: 0 running, 1 waiting');
  const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', answer);
  await terminal.shows(/one ask +\d+s ago/);
  await terminal.shows('no open questions');
  await expect.poll(() => lines.stdout.join('\n')).toMatch(/one ask {2}completed/);
  const text = lines.stdout.join('\n');
  expect(text).toMatch(/one ask {2}question {2}asks: What is your name\? {2}\(meanwhile inbox \S+\)/);
  expect(text).toMatch(/question {2}already answered by local through the hub tools/);
  terminal.type('q');
  expect((await terminal.ended()).code).toBe(0);
  expect(await lines.stop()).toBe(0);
});
