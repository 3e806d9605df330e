import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { DOORS, hubThrough } from './doors.ts';
import { soon, taskOf } from './watch.ts';

const WRONG_NAMES: { answer: Json; says: RegExp }[] = [
  { answer: { content: { name: 7 } }, says: /name.*string/ },
  { answer: { content: { name: '' } }, says: /name.*at least 1 character/ },
  { answer: { content: {} }, says: /name/ },
  { answer: {}, says: /content is missing/ },
];

test.each(DOORS)('H-9: a wrong answer is refused with the reason and the question stays open (%s)', async (door) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough({ door, kind: 'v1' }, { one: { url: server.url } });
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const request_id = promoted.elicitations[0]?.requestId;
  for (const { answer, says } of WRONG_NAMES) {
    const refused = await hub.call('respond_to_elicitation', { request_id, action: 'accept', ...answer });
    expect(refused).toMatchObject({ isError: true, code: 'TOOL_ERR_INVALID_ANSWER' });
    expect(refused.text).toMatch(says);
    expect(refused.elicitations).toMatchObject([{ requestId: request_id }]);
  }
  const unheard = await hub.call('respond_to_elicitation', { request_id, action: 'perhaps' });
  expect(unheard).toMatchObject({ isError: true, code: 'TOOL_ERR_INVALID_ARGUMENT' });
  expect(unheard.elicitations).toMatchObject([{ requestId: request_id }]);
  expect(await taskOf(hub, taskIdOf(promoted))).toMatchObject({ status: 'working' });

  await hub.call('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Mo' } });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Mo');
  const twice = await hub.call('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Mo' } });
  expect(twice).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
});

test('H-9: each answer is checked against the schema of its own question', async () => {
  const server = owned(await startV2Http({ era: 'modern' }));
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask_twice' });
  const accept = (request_id: string | undefined, content: Json) =>
    hub.call('respond_to_elicitation', { request_id, action: 'accept', content });
  await accept(promoted.elicitations[0]?.requestId, { name: 'Ned' });
  await soon(async () => (await hub.call('get_elicitations')).elicitations[0]?.message).toBe('How old are you?');
  const age = (await hub.call('get_elicitations')).elicitations[0]?.requestId;
  for (const content of [{ name: 'Ned' }, { age: -1 }, { age: 151 }, { age: 1.5 }, { age: '40' }]) {
    const refused = await accept(age, content);
    expect(refused, JSON.stringify(content)).toMatchObject({ isError: true, code: 'TOOL_ERR_INVALID_ANSWER' });
    expect(refused.text).toContain('age');
  }
  await accept(age, { age: 40 });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Ned, 40');
});

const WRONG_BLOCKS: { content: unknown; code: string }[] = [
  { content: 7, code: 'TOOL_ERR_INVALID_ARGUMENT' },
  { content: [], code: 'TOOL_ERR_INVALID_ARGUMENT' },
  { content: { type: 'text' }, code: 'TOOL_ERR_INVALID_ARGUMENT' },
  { content: { type: 'video', data: 'AA==' }, code: 'TOOL_ERR_INVALID_ARGUMENT' },
  { content: { type: 'image', data: 'not base64!', mimeType: 'image/png' }, code: 'TOOL_ERR_INVALID_ARGUMENT' },
  { content: { type: 'tool_use', id: '1', name: 'rockets', input: {} }, code: 'TOOL_ERR_INVALID_ANSWER' },
];

test('H-9: a wrong sampling answer is refused, and the request stays open', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'sample_tools' });
  const request_id = promoted.samplings[0]?.requestId;
  for (const { content, code } of WRONG_BLOCKS) {
    const refused = await hub.call('respond_to_sampling', { request_id, content });
    expect(refused, JSON.stringify(content)).toMatchObject({ isError: true, code });
    expect(refused.samplings).toMatchObject([{ requestId: request_id }]);
  }
  expect(
    (
      await hub.call('respond_to_sampling', {
        request_id,
        content: { type: 'tool_use', id: '1', name: 'rockets', input: {} },
      })
    ).text,
  ).toContain('weather');
  await hub.call('respond_to_sampling', { request_id, content: 'Rain.' });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toContain('Rain.');
});

test('H-9, H-12: an answer to the wrong kind of question or to an unknown one changes nothing', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const request_id = promoted.elicitations[0]?.requestId;
  const asSampling = await hub.call('respond_to_sampling', { request_id, content: 'Ann' });
  expect(asSampling).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
  const unknown = await hub.call('respond_to_elicitation', { request_id: taskIdOf(promoted), action: 'decline' });
  expect(unknown).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
  expect(unknown.elicitations).toMatchObject([{ requestId: request_id }]);
});
