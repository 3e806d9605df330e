/** Questions of a server that several sessions share, and that do not say which request asks. */
import { expect, test } from 'vitest';
import { temporaryFolder, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { puppet, TOOL, type Puppet } from '../direct/regressions/puppet.ts';
import { soon } from '../flows/watch.ts';

interface Stage {
  server: Puppet;
  one: HubClient;
  two: HubClient;
}

async function stage(): Promise<Stage> {
  const server = await puppet();
  const store = `${await temporaryFolder()}/store.db`;
  const { url } = await httpGateway({ shared: { ...server.config, share: 'principal' } }, { store });
  const [one, two] = [await hubOverHttp(url), await hubOverHttp(url)];
  for (const hub of [one, two]) await hub.call('list_tools', { server: 'shared' });
  return { server, one, two };
}

/** Starts a call that is a task at once, and resolves when the server has it. */
async function begin({ server }: Stage, hub: HubClient, name: string): Promise<string> {
  const reply = await hub.call('execute_tool', { server: 'shared', tool: TOOL, args: { name }, timeout_ms: 0 });
  await server.begun(name);
  return taskIdOf(reply);
}

async function read({ server }: Stage, hub: HubClient, uri: string): Promise<Promise<Reply>[]> {
  const reply = hub.call('read_resource', { server: 'shared', uri });
  await server.begun(uri);
  return [reply];
}

async function open(hub: HubClient): Promise<Json[]> {
  return (await hub.call('get_elicitations')).body['elicitations'] as Json[];
}

async function answer(hub: HubClient, requestId: unknown): Promise<Reply> {
  return hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: {} });
}

test('S-2, H-9: of two sessions that answer at the same time, one succeeds', async () => {
  const shown = await stage();
  const { server, one, two } = shown;
  await begin(shown, one, 'a');
  await begin(shown, two, 'b');
  for (let round = 0; round < 10; round += 1) {
    server.ask('a', `question ${round}`);
    await soon(async () => (await open(one)).length + (await open(two)).length).toBe(2);
    const [[first], [second]] = [await open(one), await open(two)];
    const replies = await Promise.all([answer(one, first?.['requestId']), answer(two, second?.['requestId'])]);
    expect(replies.filter(({ isError }) => !isError)).toHaveLength(1);
    expect(replies.find(({ isError }) => isError)?.code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
    expect(await server.answer(`question ${round}`)).toMatchObject({ result: { action: 'accept' } });
  }
});

test('S-2, H-3: a question is attributed to the only call left when the calls of the other session ended', async () => {
  const shown = await stage();
  const { server, one, two } = shown;
  const asking = await begin(shown, one, 'asking');
  await begin(shown, two, 'other');
  server.ask('asking', 'of asking');
  await soon(async () => (await open(one)).length + (await open(two)).length).toBe(2);
  expect((await open(one))[0]).not.toHaveProperty('taskId');
  server.end('other');
  await soon(() => open(one)).toMatchObject([{ message: 'of asking', taskId: asking }]);
  // A session whose requests have all ended cannot have asked.
  await soon(() => open(two)).toEqual([]);
  server.end('asking');
  await soon(() => open(one)).toEqual([]);
  expect(await server.answer('of asking')).toHaveProperty('error');
});

test('S-2, H-3: a question ends with the last request, of any session, that may have asked it', async () => {
  const shown = await stage();
  const { server, one, two } = shown;
  await begin(shown, one, 'a');
  const [reading] = await read(shown, two, 'test://b');
  server.ask('a', 'of a');
  await soon(async () => (await open(one)).length + (await open(two)).length).toBe(2);
  server.end('a');
  await soon(() => open(one)).toEqual([]);
  expect(await open(two)).toHaveLength(1);
  server.end('test://b');
  await reading;
  await soon(() => open(two)).toEqual([]);
  expect(await server.answer('of a')).toHaveProperty('error');
});
