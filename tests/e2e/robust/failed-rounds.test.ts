import { expect, test } from 'vitest';
import { httpGateway, type SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { soon, tasksOf } from '../flows/watch.ts';
import { oddModernServer } from './odd-server.ts';

const NAME = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};
const UNKNOWN = { method: 'oracle/consult', params: {} };

const ROUNDS: { what: string; inputRequests: object; settings: SettingsInput }[] = [
  { what: 'is of an unknown kind', inputRequests: { name: NAME, other: UNKNOWN }, settings: {} },
  { what: 'is one too many', inputRequests: { name: NAME, other: NAME }, settings: { questions: { perSession: 1 } } },
];

test.each(ROUNDS)('B-6: when one question of a round $what, the call and its other questions end', async (round) => {
  const { inputRequests, settings } = round;
  const server = await oddModernServer({
    'tools/call': ({ reply }) => reply({ resultType: 'input_required', inputRequests }),
  });
  const { url, gateway, logs } = await httpGateway({ odd: { url: server.url } }, settings);
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'odd', tool: 'any' });
  if (reply.isError) expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  else await soon(() => tasksOf(hub)).toMatchObject([{ status: 'failed' }]);

  await soon(async () => (await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  expect((await hub.call('list_servers')).elicitations).toEqual([]);
  expect(gateway.sessions.map(({ interactions }) => interactions.size)).toEqual([0]);
  const asked = logs.filter(({ event }) => event === 'elicitation_received').map(({ data }) => data?.['requestId']);
  for (const request_id of asked) {
    const answer = await hub.call('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Ada' } });
    expect(answer.code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  }
});
