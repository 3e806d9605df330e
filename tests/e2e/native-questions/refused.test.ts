import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import type { Json, Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { DOORS, WAYS } from '../flows/doors.ts';
import { tasksOf } from '../flows/watch.ts';
import { askableThrough } from './clients.ts';

const ASK = { server: 'one', tool: 'ask' };
const LEGACY = WAYS.filter(({ kind }) => kind !== 'modern');

/** What the server answered in place of a result, because its own question failed. */
function serversError(reply: Reply): Json | undefined {
  const { details } = reply.body['error'] as { details?: { error?: Json } };
  return details?.error;
}

test.each(LEGACY)(
  'H-13: an error response of the client to a question is an error for the server ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    const call = hub.call('execute_tool', ASK);
    (await hub.person.question()).refuse(new McpError(-32042, 'nobody at home', { since: 'noon' }));
    const reply = await call;
    expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
    expect(serversError(reply)).toMatchObject({
      code: -32042,
      message: expect.stringContaining('nobody at home') as string,
    });
    expect(reply.elicitations).toEqual([]);
    expect(await tasksOf(hub)).toEqual([]);
  },
);

test.each(LEGACY)(
  'H-9, H-13: an answer that does not match the schema is an error for the server ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    const call = hub.call('execute_tool', ASK);
    (await hub.person.question()).answer({ action: 'accept', content: { name: '' } });
    const reply = await call;
    expect(serversError(reply)).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/answer is invalid.*name/) as string,
    });
    expect(reply.elicitations).toEqual([]);
  },
);

test.each(DOORS)(
  'H-9, H-13: an answer in a round that does not match the schema leaves the question open (%s)',
  async (door) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough({ door, kind: 'modern' }, { one: { url: server.url } });
    const call = hub.call('execute_tool', ASK);
    (await hub.person.question()).answer({ action: 'accept', content: { name: '' } });
    const reply = await call;
    expect(reply.code).toBe('TOOL_ERR_INVALID_ANSWER');
    expect(reply.text).toMatch(/stays open.*name/);
    const [{ requestId, taskId } = { requestId: '' }] = reply.elicitations;
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Mia' } });
    expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Mia');
  },
);

test.each(DOORS)(
  'H-13, T-4: a question whose round the client does not answer can be answered at the hub (%s)',
  async (door) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough({ door, kind: 'modern' }, { one: { url: server.url } });
    const call = hub.call('execute_tool', ASK);
    // Its client gives up the call when it cannot answer what that asks.
    const failed = expect(call).rejects.toThrow(/nobody at home/);
    (await hub.person.question()).refuse(new Error('nobody at home'));
    await failed;
    const next = await hub.call('list_tasks');
    const [{ requestId, taskId } = { requestId: '' }] = next.elicitations;
    expect(next.body['tasks']).toMatchObject([{ task_id: taskId, tool: 'ask', status: 'working' }]);
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Noa' } });
    expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Noa');
  },
);
