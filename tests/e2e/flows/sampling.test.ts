import { expect, test } from 'vitest';
import { PNG } from '../../servers/shared/rich.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { hubThrough, WAYS } from './doors.ts';

/** The test server returns the answer it got. */
async function gotBy(hub: HubClient, taskId: string): Promise<Json> {
  return JSON.parse((await hub.call('get_task_result', { task_id: taskId })).text) as Json;
}

test.each(WAYS)('H-3, H-5, H-9: a sampling request is answered with text ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
  const [request] = promoted.samplings;
  expect(request).toMatchObject({
    server: 'one',
    taskId: taskIdOf(promoted),
    params: {
      messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }],
      maxTokens: 64,
      systemPrompt: 'Be brief.',
      temperature: 0.2,
      modelPreferences: { hints: [{ name: 'small' }], speedPriority: 0.9 },
    },
  });
  const waiting = await hub.call('get_sampling_requests', { server: 'one' });
  expect(waiting.body['sampling_requests']).toMatchObject([{ requestId: request?.requestId }]);
  const given = await hub.call('respond_to_sampling', { request_id: request?.requestId, content: 'hi', model: 'tiny' });
  expect(given.body).toMatchObject({ success: true });
  expect(given.samplings).toEqual([]);
  expect(await gotBy(hub, taskIdOf(promoted))).toEqual({
    role: 'assistant',
    content: { type: 'text', text: 'hi' },
    model: 'tiny',
    stopReason: 'endTurn',
  });
});

test.each(['v1', 'modern'])('H-9: a sampling request is answered with an image (server %s)', async (era) => {
  const start = era === 'v1' ? startV1Http() : startV2Http({ era: 'modern' });
  const { url } = await httpGateway({ one: { url: owned(await start).url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Draw' } });
  const content = { type: 'image', data: PNG, mimeType: 'image/png' };
  await hub.call('respond_to_sampling', {
    request_id: promoted.samplings[0]?.requestId,
    content,
    model: 'painter',
    stop_reason: 'maxTokens',
  });
  expect(await gotBy(hub, taskIdOf(promoted))).toEqual({
    role: 'assistant',
    content,
    model: 'painter',
    stopReason: 'maxTokens',
  });
});

test('H-9: a sampling request is answered with several blocks, including tool use', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample_tools' });
  expect(promoted.samplings).toMatchObject([
    { params: { tools: [{ name: 'weather' }], toolChoice: { mode: 'required' } } },
  ]);
  const content = [
    { type: 'text', text: 'Let me look.' },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'tool_use', id: 'call-1', name: 'weather', input: { city: 'Oslo' } },
  ];
  await hub.call('respond_to_sampling', { request_id: promoted.samplings[0]?.requestId, content, model: 'm' });
  expect(await gotBy(hub, taskIdOf(promoted))).toEqual({
    role: 'assistant',
    content,
    model: 'm',
    stopReason: 'toolUse',
  });
});

test.each(WAYS)('H-9: a declined sampling request is an error for the server ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  for (const [reason, told] of [
    [undefined, 'User rejected sampling request'],
    ['not with this model', 'not with this model'],
  ]) {
    const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'Say hi' } });
    const [{ requestId: request_id } = { requestId: '' }] = promoted.samplings;
    const without = await hub.call('respond_to_sampling', { request_id });
    expect(without.code).toBe('TOOL_ERR_INVALID_ARGUMENT');
    expect(without.samplings).toHaveLength(1);
    const declined = await hub.call('respond_to_sampling', {
      request_id,
      action: 'decline',
      ...(reason !== undefined && { reason }),
    });
    expect(declined.body).toMatchObject({ success: true });
    expect(declined.samplings).toEqual([]);
    expect(declined.events).toEqual([]);
    // The server passes on the error that it got.
    const { text } = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
    expect(text).toContain(told);
    expect(text).toContain('-1');
    expect((await hub.call('respond_to_sampling', { request_id, action: 'decline' })).code).toBe(
      'TOOL_ERR_REQUEST_NOT_FOUND',
    );
  }
});
