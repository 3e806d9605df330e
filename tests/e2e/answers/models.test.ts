import { expect, test, vi } from 'vitest';
import { PNG } from '../../servers/shared/rich.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { atConsole } from '../../support/console.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { KEY, startModelServer, type Api, type ModelServer } from '../../support/model-server.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { begin, killable, restart, rows } from '../restart/killable.ts';

interface Stage {
  model: ModelServer;
  gateway: TestGateway;
  hub: HubClient;
}

async function stage(api: Api, more: Json = {}): Promise<Stage> {
  const model = await startModelServer(api, { key: KEY });
  const server = owned(await startV1Http());
  const models = { fast: { api, url: model.url, key: '${THE_KEY}', model: 'tiny', ...more } };
  const gateway = await httpGateway({ one: { url: server.url } }, { models }, undefined, { THE_KEY: KEY });
  return { model, gateway, hub: await hubOverHttp(gateway.url) };
}

test.each<Api>(['openai', 'anthropic'])(
  'G-4: a server gets the answer of a model to its sampling request (%s)',
  async (api) => {
    const { model, gateway, hub } = await stage(api);
    const reply = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
    expect(JSON.parse(reply.text)).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hello.' },
      model: 'tiny-2026',
      stopReason: 'endTurn',
    });
    expect(model.mistakes).toEqual([]);
    expect(model.requests).toMatchObject([{ model: 'tiny', max_tokens: 64, temperature: 0.2 }]);
    const person = await atConsole(gateway);
    expect(await person.one('/questions?status=ended')).toMatchObject({
      kind: 'sampling',
      answeredBy: { principal: 'local', via: 'model', name: 'fast' },
    });
  },
);

test.each<Api>(['openai', 'anthropic'])(
  'G-4: a model calls the tools of a sampling request and gets their results (%s)',
  async (api) => {
    const { model, hub, gateway } = await stage(api);
    model.turns.push({ calls: [{ id: 'call_1', name: 'weather', input: { city: 'Oslo' } }] }, { text: 'Cold.' });
    const args = { result: '-8 °C' };
    const reply = await hub.call('execute_tool', { server: 'one', tool: 'sample_tools', args });
    expect(JSON.parse(reply.text)).toMatchObject({ content: { type: 'text', text: 'Cold.' }, stopReason: 'endTurn' });
    expect(model.mistakes).toEqual([]);
    expect(model.texts).toHaveLength(2);
    expect(model.texts[1]).toContain('-8 °C');
    expect(model.texts[1]).toContain(PNG);
    expect(JSON.stringify(gateway.logs)).not.toContain(KEY);
  },
);

test('G-4: when a model refuses its key, the hub tools get the request, and the key stays secret', async () => {
  const { model, gateway, hub } = await stage('openai');
  model.turns.push({ status: 401, body: `Incorrect API key provided: ${KEY}` });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  const [request] = promoted.samplings;
  const person = await atConsole(gateway);
  // The history may tell of the question a moment before it tells of the failure.
  await vi.waitFor(async () => {
    const { reason } = await person.one('/questions?status=open');
    expect(reason).toBe(
      "the model 'fast' did not answer: its endpoint refused the key (HTTP 401): check the variable THE_KEY",
    );
  });
  expect(JSON.stringify(gateway.logs)).not.toContain(KEY);
  await hub.call('respond_to_sampling', { request_id: request?.requestId, content: 'hi', model: 'me' });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(JSON.parse(result.text)).toMatchObject({ model: 'me' });
});

test('G-4: with review, a person approves the prompt at the console', async () => {
  const { model, gateway, hub } = await stage('anthropic', { review: true });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  expect(promoted.elicitations[0]?.message).toContain('system: Be brief.\nuser: Say hi');
  expect(promoted.samplings).toEqual([]);
  expect(model.count()).toBe(0);
  const person = await atConsole(gateway);
  const id = promoted.elicitations[0]?.requestId ?? '';
  await person.post(`/questions/${id}/answer`, { action: 'accept', content: { decision: 'send' } });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(JSON.parse(result.text)).toMatchObject({ content: { text: 'Hello.' } });
  expect(model.mistakes).toEqual([]);
});

test('G-4: a request that was open at a kill is sent to the model again and counts twice in the budget', async () => {
  const model = await startModelServer('openai');
  model.turns.push('silence');
  const server = owned(await startTasksV2Http());
  const models = { fast: { api: 'openai', url: model.url, model: 'tiny', budget: { callsPerDay: 2 } } };
  const gateway = await killable(
    { ext: { url: server.url } },
    { models, servers: { reconnect: { firstMs: 50, maxMs: 200 } } },
  );
  const session = await rawSession(gateway.url);
  const { id } = await begin(session, 'ext', 'sample', { prompt: 'Rhyme' });
  await vi.waitFor(() => expect(model.count()).toBe(1), { timeout: 10_000 });
  await restart(gateway);
  const result = await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 });
  expect(result.text).toContain('Hello.');
  expect(requestsOf(server.state, 'tasks/update')).toHaveLength(1);
  expect([model.count(), model.mistakes]).toEqual([2, []]);
  expect(rows(gateway.store, 'questions')).toEqual([]);
  const refused = await session.reply('execute_tool', { server: 'ext', tool: 'sample', args: { prompt: 'More' } });
  expect(refused.samplings).toHaveLength(1);
  expect(model.count()).toBe(2);
});
