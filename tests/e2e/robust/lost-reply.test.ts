import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubEvent, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { modernCall, modernHeaders, rawSession, toolCall } from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';

/** More than fits between two sockets, so that it cannot all be handed over at once. */
const BYTES = 14_000_000;
const BIG = { server: 'one', tool: 'big', args: { bytes: BYTES } };

interface Client {
  message: Json;
  headers: Record<string, string>;
  ask: (tool: string, args?: Json) => Promise<Reply>;
}

const CLIENTS: Record<string, (url: string) => Promise<Client>> = {
  legacy: async (url) => {
    const session = await rawSession(url);
    const ask: Client['ask'] = (tool, args) => session.reply(tool, args);
    return { message: toolCall('execute_tool', BIG), headers: session.headers, ask };
  },
  modern: async (url) => {
    const hub = await hubOverHttp(url, 'modern');
    const accept = 'application/json, text/event-stream';
    const headers = { 'content-type': 'application/json', accept, ...modernHeaders('execute_tool') };
    return {
      message: modernCall('execute_tool', BIG, 1000, 'test'),
      headers,
      ask: (tool, args) => hub.call(tool, args),
    };
  },
};

/** Breaks the connection as soon as the answer begins. */
async function postAndBreak(url: string, message: Json, headers: Record<string, string>): Promise<void> {
  const body = JSON.stringify(message);
  await new Promise<void>((resolve, reject) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(url, { method: 'POST', headers: { ...headers, ...length }, agent: false }, (response) => {
      response.on('error', () => {
        // It is this side that breaks it.
      });
      response.once('close', resolve);
      response.once('data', () => sent.destroy());
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test.each(['legacy', 'modern'])('T-4: a result whose reply was lost is kept as a task (%s)', async (era) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const { message, headers, ask } = (await CLIENTS[era]?.(url)) ?? {};
  if (message === undefined || headers === undefined || ask === undefined) throw new Error(`no client of ${era}`);
  await ask('list_tools');
  await postAndBreak(url, message, headers);
  const told: HubEvent[] = [];
  const tasks = async (): Promise<Json[]> => {
    const reply = await ask('list_tasks', { include_completed: true });
    told.push(...reply.events);
    return reply.body['tasks'] as Json[];
  };
  await soon(tasks).toMatchObject([{ tool: 'big', status: 'completed' }]);
  const [task] = await tasks();
  expect(told.map(({ data }) => data['taskId'])).toContain(task?.['task_id']);
  const result = await ask('get_task_result', { task_id: task?.['task_id'] });
  expect(result.text).toHaveLength(BYTES);
  expect(server.state.calls).toHaveLength(1);
});
