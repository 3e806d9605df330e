import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, TASKS } from '../modern-wire.ts';

/** Answers the only question that waits at the hub. */
async function answerAt(hub: HubClient, name: string): Promise<void> {
  const open = async () => (await hub.call('get_elicitations')).body['elicitations'] as { requestId: string }[];
  await soon(async () => (await open()).length).toBe(1);
  const [asked] = await open();
  const answer = { request_id: asked?.requestId, action: 'accept', content: { name } };
  expect((await hub.call('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
}

async function behind(start: () => Promise<{ url: string; close(): Promise<void> }>) {
  const server = owned(await start());
  const { url } = await httpGateway({ one: { url: server.url } });
  return { hub: await hubOverHttp(url, 'modern'), direct: `${url}/one` };
}

test('D-7, H-13: an answer at the hub beats a later answer in a round', async () => {
  const { hub, direct } = await behind(startV1Http);
  const wire = new ModernWire(direct, { capabilities: ROUNDS });
  const round = await wire.ask('ask');
  await answerAt(hub, 'Hub');
  const { key } = onlyQuestion(round);
  const { requestState } = round;
  const inputResponses = { [key]: accept({ name: 'Late' }) };
  expect(textOf(await wire.call('ask', {}, { requestState, inputResponses }))).toBe('Hello Hub');
});

test('D-7, H-13: an answer at the hub beats a later answer with `tasks/update`', async () => {
  const server = owned(await startTasksV2Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const wire = new ModernWire(`${url}/one`, { capabilities: TASKS });
  const { taskId } = await wire.call('ask');
  const { key } = onlyQuestion((await wire.task(taskId, 'input_required')) as never);
  await answerAt(hub, 'Hub');
  const inputResponses = { [key]: accept({ name: 'Late' }) };
  expect((await wire.send('tasks/update', { taskId, inputResponses })).error).toBeUndefined();
  expect(await wire.task(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello Hub' }] } });
  expect(requestsOf(server.state, 'tasks/update')).toHaveLength(1);
});

test('D-7, D-3: a question that was answered at the hub is not asked with `tasks/result`', async () => {
  const { hub, direct } = await behind(startV1Http);
  const wire = await LegacyWire.open(direct);
  const { taskId } = await wire.begin('ask');
  await answerAt(hub, 'Hub');
  expect(textOf(await wire.request('tasks/result', { taskId }))).toBe('Hello Hub');
});
