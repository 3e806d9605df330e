import { join } from 'node:path';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder, type SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { runProgram, serveProgram, type Serving } from '../../support/program.ts';
import { rows } from '../restart/killable.ts';

interface Setup {
  server: V1Http;
  store: string;
  config: string;
  program: Serving;
}

async function setup(settings: SettingsInput = {}): Promise<Setup> {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const config = await configFile({ one: { url: server.url } }, { store, ...settings });
  return { server, store, config, program: await serveProgram(['--config', config]) };
}

test('P-3: a task is stored before its id is returned, and a question before it is shown', async () => {
  const { store, program } = await setup();
  const hub = await hubOverHttp(program.url);
  for (let round = 0; round < 5; round += 1) {
    const slow = await hub.call('execute_tool', {
      server: 'one',
      tool: 'slow',
      args: { ms: 60_000 },
      timeout_ms: 1,
    });
    expect(rows(store, 'tasks').map(({ id }) => id)).toContain(taskIdOf(slow));
  }
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  expect(rows(store, 'tasks').map(({ id }) => id)).toContain(taskIdOf(asked));
  expect(rows(store, 'questions').map(({ id }) => id)).toEqual([asked.elicitations[0]?.requestId]);
});

test('P-1, P-3: the store contains sessions, tasks, results, questions, undelivered events and servers', async () => {
  const { server, store, program } = await setup();
  const other = owned(await startV1Http());
  const hub = await hubOverHttp(program.url);
  expect(rows(store, 'sessions')).toEqual([
    {
      id: hub.sessionId(),
      principal: 'local',
      createdAt: expect.any(Number),
      lastActiveAt: expect.any(Number),
      key: expect.any(String),
      view: { kind: 'hub' },
      owner: {
        kind: 'client',
        client: { protocolVersion: expect.any(String), capabilities: {}, program: 'test' },
      },
    },
  ]);
  // What the config file names is there anyway; what is added is kept.
  expect(rows(store, 'servers')).toEqual([]);
  const added = await hub.call('add_server', { name: 'two', url: other.url });
  expect(added.isError, added.text).toBe(false);
  expect(rows(store, 'servers')).toEqual([
    expect.objectContaining({ owner: 'local', name: 'two', config: { url: other.url } }),
  ]);

  const slow = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300, text: 'kept' },
    timeout_ms: 1,
  });
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(slow) })).text).toBe('kept');
  expect(rows(store, 'tasks')).toEqual([
    expect.objectContaining({
      id: taskIdOf(slow),
      sessionId: hub.sessionId(),
      status: 'completed',
      result: { content: [{ type: 'text', text: 'kept' }] },
    }),
    expect.objectContaining({ id: taskIdOf(asked), status: 'input_required', server: 'one', tool: 'ask' }),
  ]);
  expect(rows(store, 'questions')).toEqual([
    expect.objectContaining({
      sessionId: hub.sessionId(),
      kind: 'elicitation',
      status: 'open',
      link: { certainty: 'certain', by: expect.objectContaining({ taskId: taskIdOf(asked) }) },
      params: expect.objectContaining({ message: 'Who?' }),
    }),
  ]);

  // An event nobody was told of is kept until somebody is.
  for (const session of server.state.sessions) await session.server.sendToolListChanged();
  await vi.waitFor(() => expect(rows(store, 'events').map(({ type }) => type)).toContain('notification'), {
    timeout: 10_000,
  });
  const { events } = await hub.call('list_tasks');
  expect(events.map(({ type }) => type)).toContain('notification');
  await vi.waitFor(() => expect(rows(store, 'events')).toEqual([]), { timeout: 10_000 });

  await hub.call('respond_to_elicitation', { request_id: asked.elicitations[0]?.requestId, action: 'decline' });
  expect(rows(store, 'questions')).toEqual([]);
});

test('P-1, H-4: a fast call writes only the history', async () => {
  const { store, program } = await setup({ history: { keepMs: 0 } });
  const hub = await hubOverHttp(program.url);
  await hub.call('list_tools');
  await vi.waitFor(() => expect(rows(store, 'events')).toEqual([]), { timeout: 10_000 });
  // Of one connection, this number changes when another one has written anything.
  const db = new Database(store, { readonly: true });
  defer(async () => void db.close());
  const before = db.pragma('data_version');
  for (let round = 0; round < 20; round += 1) {
    await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  }
  expect(db.pragma('data_version')).toEqual(before);
  await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
  expect(db.pragma('data_version')).not.toEqual(before);
});

test('P-1, S-3: after a restart added servers are configured, and removed ones are not', async () => {
  const { config, program } = await setup();
  const [two, three] = [owned(await startV1Http()), owned(await startV1Http())];
  const hub = await hubOverHttp(program.url);
  await hub.call('add_server', { name: 'two', url: two.url });
  await hub.call('add_server', { name: 'three', url: three.url });
  await hub.call('remove_server', { name: 'three' });
  expect(await program.stop()).toBe(0);

  const again = await serveProgram(['--config', config]);
  const later = await hubOverHttp(again.url);
  const { body } = await later.call('list_servers');
  expect((body['servers'] as Json[]).map(({ name }) => String(name)).toSorted()).toEqual(['one', 'two']);
  const { text } = await later.call('execute_tool', { server: 'two', tool: 'echo', args: { text: 'back' } });
  expect(text).toBe('back');
});

test('P-1: a second gateway on the same file exits with the process id of the first', async () => {
  const { config, store, program } = await setup();
  const second = await runProgram(['serve', '--config', config]);
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`${store}: another meanwhile (process ${program.child.pid}) is using this store`);
  expect(second.stderr).toContain('--store');
  const hub = await hubOverHttp(program.url);
  expect((await hub.call('list_servers')).isError).toBe(false);
});
