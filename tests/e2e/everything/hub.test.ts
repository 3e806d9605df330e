/** The reference server of the protocol's authors, as it comes from the registry, behind the hub. */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

async function everything(): Promise<HubClient> {
  const { url } = await httpGateway({ everything: { command: process.execPath, args: [program] } });
  return hubOverHttp(url);
}

async function execute(hub: HubClient, tool: string, args: Json = {}, more: Json = {}): Promise<Reply> {
  return hub.call('execute_tool', { server: 'everything', tool, args, ...more });
}

async function resultOf(hub: HubClient, promoted: Reply): Promise<string> {
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.isError).toBe(false);
  return result.text;
}

test('B-6, H-3: server-everything: a long-running operation becomes a task that completes', async () => {
  const hub = await everything();
  const promoted = await execute(hub, 'trigger-long-running-operation', { duration: 1, steps: 2 }, { timeout_ms: 200 });
  expect(await resultOf(hub, promoted)).toContain('Long running operation completed');
});

test('B-6, H-9: server-everything: a sampling request is answered', async () => {
  const hub = await everything();
  const promoted = await execute(hub, 'trigger-sampling-request', { prompt: 'Say hi' });
  expect(promoted.samplings).toMatchObject([{ taskId: taskIdOf(promoted) }]);
  await hub.call('respond_to_sampling', { request_id: promoted.samplings[0]?.requestId, content: 'hi there' });
  expect(await resultOf(hub, promoted)).toContain('hi there');
});

test('H-3, B-6: server-everything: a sampling request is attributed to its call beside a native task', async () => {
  const hub = await everything();
  await execute(hub, 'simulate-research-query', { topic: 'tea' }, { timeout_ms: 0 });
  const promoted = await execute(hub, 'trigger-sampling-request', { prompt: 'Say hi' });
  expect(promoted.samplings).toMatchObject([{ taskId: taskIdOf(promoted) }]);
  await hub.call('respond_to_sampling', { request_id: promoted.samplings[0]?.requestId, content: 'hi there' });
  expect(await resultOf(hub, promoted)).toContain('hi there');
});

test('B-6, H-9: server-everything: a form with every kind of field is answered', async () => {
  const hub = await everything();
  const promoted = await execute(hub, 'trigger-elicitation-request');
  const [question] = promoted.elicitations;
  const content = { name: 'Ada', check: true, email: 'ada@example.org', integer: 3 };
  await hub.call('respond_to_elicitation', { request_id: question?.requestId, action: 'accept', content });
  expect(await resultOf(hub, promoted)).toContain('provided the requested information');
});

test('R-3, R-5, R-9: server-everything: task-augmented requests of the server are answered', async () => {
  const hub = await everything();
  const asked = await execute(hub, 'trigger-elicitation-request-async');
  await hub.call('respond_to_elicitation', { request_id: asked.elicitations[0]?.requestId, action: 'decline' });
  expect(await resultOf(hub, asked)).toMatch(/declined/i);
  const sampled = await execute(hub, 'trigger-sampling-request-async', { prompt: 'Say hi' });
  await hub.call('respond_to_sampling', { request_id: sampled.samplings[0]?.requestId, content: 'hi, later' });
  expect(await resultOf(hub, sampled)).toContain('hi, later');
});

test('B-6, H-3: server-everything: a tool that only runs as a task can be called and asks a question', async () => {
  const hub = await everything();
  const promoted = await execute(hub, 'simulate-research-query', { topic: 'python', ambiguous: true });
  const [question] = promoted.elicitations;
  expect(question).toMatchObject({ taskId: taskIdOf(promoted) });
  const [field] = Object.keys(question?.requestedSchema?.['properties'] ?? {});
  const choice = { [field ?? '']: 'programming' };
  await hub.call('respond_to_elicitation', { request_id: question?.requestId, action: 'accept', content: choice });
  expect(await resultOf(hub, promoted)).toContain('Research Report: python');
});
