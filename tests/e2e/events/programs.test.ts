/** Whose state a client without a protocol session uses: that of its program, or the one that it names. */
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { errorOf, modernCall, modernHeaders, post } from '../../support/raw-http.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { settle, soon, taskOf, tasksOf } from '../flows/watch.ts';

const TOKENS = { ada: 'ada-ada-ada-ada-ada', ben: 'ben-ben-ben-ben-ben' };
const SLOW = { server: 'one', tool: 'slow', args: { ms: 50, text: 'done' }, timeout_ms: 5 };

async function setup(settings: SettingsInput = {}): Promise<TestGateway> {
  const server = owned(await startV1Http());
  return httpGateway({ one: { url: server.url } }, settings);
}

async function program(url: string, name: string, headers: Record<string, string> = {}): Promise<HubClient> {
  const hub = await hubOverHttp(url, 'modern', headers, name);
  await settle(hub);
  return hub;
}

test('S-5: replies to one program do not show tasks and events of another', async () => {
  const { url } = await setup();
  const [claude, codex] = [await program(url, 'claude-code'), await program(url, 'codex')];
  await codex.call('list_servers');
  const task = taskIdOf(await claude.call('execute_tool', SLOW));
  await soon(async () => (await taskOf(claude, task))['status']).toBe('completed');
  expect((await codex.call('list_servers')).events).toEqual([]);
  expect(await tasksOf(codex)).toEqual([]);
  expect(await tasksOf(claude)).toMatchObject([{ task_id: task }]);
});

test('S-5: another program of the same user reaches a task by its id', async () => {
  const { url } = await setup();
  const [claude, codex] = [await program(url, 'claude-code'), await program(url, 'codex')];
  const task = taskIdOf(await claude.call('execute_tool', SLOW));
  expect((await codex.call('get_task_result', { task_id: task })).text).toBe('done');
  const held = taskIdOf(await claude.call('execute_tool', { ...SLOW, args: { ms: 600_000, text: '' } }));
  expect((await codex.call('cancel_task', { task_id: held })).body).toMatchObject({ success: true });
  expect(await taskOf(claude, held)).toMatchObject({ status: 'cancelled' });
});

test('S-5: another program can answer a question by its id, and is not shown it otherwise', async () => {
  const { url } = await setup();
  const [claude, codex] = [await program(url, 'claude-code'), await program(url, 'codex')];
  const asked = await claude.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  const task = taskIdOf(asked);
  expect((await codex.call('list_servers')).elicitations).toEqual([]);
  expect((await codex.call('get_elicitations')).body).toEqual({ elicitations: [] });
  const { body } = await codex.call('get_task', { task_id: task });
  expect(body['pending_elicitations_for_server']).toMatchObject([{ message: 'Who?', requestedSchema: {} }]);
  const [{ requestId } = { requestId: '' }] = asked.elicitations;
  const answer = { request_id: requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await codex.call('respond_to_elicitation', answer)).isError).toBe(false);
  expect((await claude.call('get_task_result', { task_id: task })).text).toBe('Hello Ada');
});

test.each([
  ['query', (url: string) => [`${url}?as=work`, {}] as const],
  ['header', (url: string) => [url, { 'Meanwhile-As': 'work' }] as const],
])('S-5: programs that name the same state share its tasks (%s)', async (_how, named) => {
  const { url } = await setup();
  const [address, headers] = named(url);
  const claude = await program(address, 'claude-code', headers);
  const task = taskIdOf(await claude.call('execute_tool', SLOW));
  const codex = await program(`${url}?as=work`, 'codex');
  expect(await tasksOf(codex)).toMatchObject([{ task_id: task }]);
  expect(await tasksOf(await program(`${url}?as=play`, 'codex'))).toEqual([]);
  expect(await tasksOf(await program(url, 'claude-code'))).toEqual([]);
});

test('S-5, X-2: the same state name of another principal is another state', async () => {
  const { url } = await setup({ auth: { tokens: TOKENS } });
  const as = (name: keyof typeof TOKENS): Record<string, string> => ({ authorization: `Bearer ${TOKENS[name]}` });
  const ada = await program(`${url}?as=work`, 'claude-code', as('ada'));
  const task = taskIdOf(await ada.call('execute_tool', { ...SLOW, args: { ms: 600_000, text: '' } }));
  const ben = await program(`${url}?as=work`, 'claude-code', as('ben'));
  expect(await tasksOf(ben)).toEqual([]);
  expect((await ben.call('get_task', { task_id: task })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  expect((await ben.call('cancel_task', { task_id: task })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
});

test.each(['', 'a b', 'a:b', '../x', 'ü', 'x'.repeat(65), '__proto__'])(
  'S-5, X-4: the state name %j is refused, or has no special effect',
  async (name) => {
    const gateway = await setup();
    const address = `${gateway.url}?as=${encodeURIComponent(name)}`;
    const answer = await post(address, modernCall('list_tasks'), modernHeaders('list_tasks'));
    if (name === '__proto__') expect(answer.status).toBe(200);
    else {
      expect(answer.status).toBe(400);
      expect(errorOf(answer).message).toContain('1 to 64');
      expect(gateway.gateway.sessions).toEqual([]);
    }
  },
);

test('S-5: a request with two state names is refused', async () => {
  const { url } = await setup();
  const headers = { ...modernHeaders('list_tasks'), 'meanwhile-as': 'a' };
  const answer = await post(`${url}?as=b`, modernCall('list_tasks'), headers);
  expect(answer.status).toBe(400);
});

test('S-5, D-4: at a direct endpoint programs have separate states, and reach tasks by id', async () => {
  const server = owned(await startTasksV2Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: 50 } });
  const address = `${url}/one`;
  const claude = new ModernWire(address, { program: 'claude-code' });
  const codex = new ModernWire(address, { program: 'codex' });
  const { taskId } = await claude.call('hold', { text: 'kept' });
  await codex.call('hold', { text: 'kept' });
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(2);
  expect(await codex.request('tasks/get', { taskId })).toMatchObject({ status: 'working' });
  server.state.release();
  expect(await codex.task(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'kept' }] } });
});
