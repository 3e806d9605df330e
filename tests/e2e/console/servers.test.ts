/** Servers, trying their tools, and sessions. */
import { expect, test } from 'vitest';
import { codeOf, withToken } from '../../support/console.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { question, session } from '../../support/records.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ANN, BOB, OLA, PEOPLE, servers, setup } from './setup.ts';

test('W-5: servers are listed with their state, era and capabilities', async () => {
  const { hub, person } = await setup({ servers: { connect: { urls: 'lazy' } } });
  expect(await person.items('/servers')).toMatchObject([
    { name: 'old', addedBy: 'config file', transport: 'http', state: 'idle', sessions: 0 },
    { name: 'new', state: 'idle' },
  ]);
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'x' } });
  await hub.call('execute_tool', { server: 'new', tool: 'fail' });
  await expect
    .poll(async () => person.items('/servers'))
    .toMatchObject([
      {
        name: 'old',
        state: 'connected',
        sessions: 1,
        era: 'legacy',
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        calls: { lastHour: 1, errors: 0 },
        latencyMs: expect.any(Number),
      },
      { name: 'new', state: 'connected', era: 'modern', calls: { lastHour: 1, errors: 1 } },
    ]);
});

test('W-5: addresses hide secrets, and a server that cannot be used has a fix', async () => {
  const gateway = await httpGateway({
    away: { url: 'http://user:pass@127.0.0.1:9/mcp?key=secret' },
    missing: { command: '/no/such/program', args: ['--token', 'secret'], env: { KEY: 'secret' } },
  });
  const person = withToken(gateway, gateway.console.key);
  const failed = await person.post('/servers/away/connect');
  expect([failed.status, codeOf(failed)]).toEqual([502, 'server_unreachable']);
  expect(failed.text).toContain('start the server');
  expect((await person.post('/servers/missing/connect')).status).toBe(502);
  const { text, body } = await person.get('/servers');
  expect(text).not.toMatch(/secret|pass/);
  expect(body['items']).toMatchObject([
    { name: 'away', error: expect.any(String), fix: expect.stringContaining('no program listens there') },
    {
      name: 'missing',
      transport: 'stdio',
      address: '/no/such/program --token ***',
      fix: expect.any(String),
      error: expect.any(String),
    },
  ]);
});

test('W-5: a server is shown with its tools and its log', async () => {
  const gateway = await httpGateway({ local: v1Stdio() });
  const person = withToken(gateway, gateway.console.key);
  expect((await person.get('/servers/local')).body).not.toHaveProperty('tools');
  const connected = await person.post('/servers/local/connect');
  expect([connected.status, connected.body]).toMatchObject([200, { state: 'connected', sessions: 1 }]);
  const tools = connected.body['tools'] as Json[];
  expect(tools.find(({ name }) => name === 'echo')).toMatchObject({
    title: 'Echo',
    description: expect.any(String),
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    annotations: { readOnlyHint: true },
  });
  await person.post('/servers/local/calls', { tool: 'log', arguments: { count: 2, level: 'info' } });
  await expect
    .poll(async () => (await person.get('/servers/local')).body['log'])
    .toMatchObject([
      { level: 'info', source: 'protocol', logger: 'test', data: { n: 0 }, time: expect.any(Number) },
      { data: { n: 1 } },
    ]);
  expect((await person.get('/servers/none')).text).toContain('known: local');
  expect((await person.post('/servers/none/connect')).status).toBe(404);
});

test.each(['old', 'new'])(
  'W-5: a tool of the %s server is called from the console, with its questions and its result',
  async (server) => {
    const { person } = await setup();
    const events = await person.events();
    const begun = await person.post(`/servers/${server}/calls`, { tool: 'ask', arguments: { message: 'Who?' } });
    expect([begun.status, begun.body]).toMatchObject([
      202,
      { server, tool: 'ask', view: 'console', principal: 'local' },
    ]);
    const callId = begun.body['id'];
    const question = await events.next('question', (each) => each['callId'] === callId);
    await person.post(`/questions/${String(question['id'])}/answer`, { action: 'accept', content: { name: 'Ada' } });
    await events.next('call', (each) => each['id'] === callId && each['status'] === 'completed');
    expect((await person.get(`/calls/${String(callId)}`)).body).toMatchObject({
      result: { content: [{ text: 'Hello Ada' }] },
    });
    expect(await person.items('/sessions')).toEqual(
      expect.arrayContaining([expect.objectContaining({ view: 'console', servers: expect.arrayContaining([server]) })]),
    );
  },
);

test('W-5: an invalid tool call from the console is refused', async () => {
  const { person } = await setup();
  expect((await person.post('/servers/none/calls', { tool: 'echo' })).status).toBe(404);
  expect((await person.post('/servers/old/calls', {})).text).toContain("'tool'");
  expect((await person.post('/servers/old/calls', { tool: 'echo', arguments: [] })).text).toContain("'arguments'");
  expect((await person.post('/servers/old/calls', { tool: 'echo', colour: 1 })).text).toContain("'colour'");
  const deep = JSON.parse(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`) as Json;
  expect((await person.post('/servers/old/calls', { tool: 'echo', arguments: deep })).text).toContain('levels deep');
  // That the server does not know a tool is for the server to say.
  const { status, body } = await person.post('/servers/old/calls', { tool: 'nothing' });
  expect(status).toBe(202);
  await expect
    .poll(async () => (await person.get(`/calls/${String(body['id'])}`)).body)
    .toMatchObject({ tool: 'nothing', endedAt: expect.any(Number) });
});

test('W-5: sessions show their client and their tasks and questions', async () => {
  const { gateway, hub, person } = await setup();
  await hub.call('execute_tool', { server: 'old', tool: 'ask' });
  const direct = await hubOverHttp(`${gateway.url}/new`, 'modern', {}, 'other-program');
  await direct.request('tools/list');
  const sessions = await person.items('/sessions');
  expect(sessions.find(({ id }) => id === hub.sessionId())).toMatchObject({
    principal: 'local',
    program: 'test',
    view: 'hub',
    protocolVersion: '2025-11-25',
    connected: true,
    tasks: { running: 1, ended: 0 },
    questions: 1,
    servers: expect.arrayContaining(['old']),
  });
  expect(sessions.find(({ view }) => view === 'direct')).toMatchObject({ server: 'new', program: 'other-program' });
});

test('W-5: stored sessions are listed as dormant, in pages, and are not restored', async () => {
  const { gateway, hub, person } = await setup();
  await hub.call('list_servers');
  const { store } = gateway.gateway;
  for (const index of [1, 2, 3]) {
    const id = `stored-${index}`;
    const claimed = await store.claim(id);
    const client = { protocolVersion: '2025-11-25', capabilities: {}, program: `program ${index}` };
    claimed?.put('session', { ...session(id), lastActiveAt: index, owner: { kind: 'client', client } });
    claimed?.put('question', question(`q-${index}`, id));
    await claimed?.release();
  }
  const first = await person.get('/sessions?limit=2');
  expect(first.body['items']).toMatchObject([
    { id: hub.sessionId(), state: 'connected' },
    {
      id: 'stored-3',
      state: 'dormant',
      connected: false,
      program: 'program 3',
      view: 'hub',
      protocolVersion: '2025-11-25',
      tasks: { running: 0, ended: 0 },
      questions: 1,
      servers: [],
    },
    { id: 'stored-2' },
  ]);
  const next = String(first.body['next']);
  expect((await person.get(`/sessions?limit=2&cursor=${next}`)).body).toEqual({
    items: [expect.objectContaining({ id: 'stored-1' })],
  });
  expect(await person.items('/sessions?state=live')).toHaveLength(1);
  expect(await person.items('/sessions?state=dormant')).toHaveLength(3);
  expect((await person.get('/sessions?cursor=x')).status).toBe(400);
  expect(gateway.gateway.sessions.map(({ id }) => id)).toEqual([hub.sessionId()]);
});

test('W-5, W-7: only operators see servers and sessions of other principals', async () => {
  const { v1, config } = await servers();
  const gateway = await httpGateway(config, { ...PEOPLE, addServerAddresses: 'any' });
  const ofAnn = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${ANN}` });
  await ofAnn.call('add_server', { name: 'hers', url: v1.url });
  const [ann, bob, ola] = [ANN, BOB, OLA].map((token) => withToken(gateway, token)) as [
    ReturnType<typeof withToken>,
    ReturnType<typeof withToken>,
    ReturnType<typeof withToken>,
  ];
  const names = async (person: typeof ann): Promise<unknown[]> =>
    (await person.items('/servers')).map(({ name }) => name);
  expect(await names(ann)).toEqual(['old', 'new', 'hers']);
  expect(await names(bob)).toEqual(['old', 'new']);
  expect((await ola.items('/servers')).at(-1)).toMatchObject({ name: 'hers', principal: 'ann', sessions: 1 });
  expect((await bob.get('/servers/hers')).status).toBe(404);
  expect((await ola.get('/servers/hers')).status).toBe(200);
  expect((await ola.post('/servers/hers/connect')).status).toBe(404);
  expect(await bob.items('/sessions')).toEqual([]);
  expect(await ann.items('/sessions')).toHaveLength(1);
  expect(await ola.items('/sessions')).toMatchObject([{ principal: 'ann' }]);
  const claimed = await gateway.gateway.store.claim('stored');
  claimed?.put('session', { ...session('stored'), principal: 'ann' });
  await claimed?.release();
  expect(await bob.items('/sessions')).toEqual([]);
  expect(await ann.items('/sessions')).toHaveLength(2);
  expect(await ola.items('/sessions')).toMatchObject([{ principal: 'ann' }, { id: 'stored', principal: 'ann' }]);
});

test('W-5, W-7: an operator sees same-named servers of several principals, each with its own calls', async () => {
  const { v1, v2 } = await servers();
  const gateway = await httpGateway({}, { ...PEOPLE, addServerAddresses: 'any' });
  for (const [token, url] of [
    [ANN, v1.url],
    [OLA, v2.url],
  ] as const) {
    const hub = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${token}` });
    await hub.call('add_server', { name: 'same', url });
    await hub.call('execute_tool', { server: 'same', tool: 'echo', args: { text: 'x' } });
    if (token === ANN) await hub.call('execute_tool', { server: 'same', tool: 'echo', args: { text: 'y' } });
  }
  const [ann, bob, ola] = [ANN, BOB, OLA].map((token) => withToken(gateway, token));
  await expect
    .poll(async () => ola?.items('/servers'))
    .toMatchObject([
      { name: 'same', era: 'modern', calls: { lastHour: 1 } },
      { name: 'same', principal: 'ann', era: 'legacy', calls: { lastHour: 2 } },
    ]);
  const era = async (query: string): Promise<unknown> => (await ola?.get(`/servers/same${query}`))?.body['era'];
  expect([await era(''), await era('?principal=ann'), await era('?principal=ola')]).toEqual([
    'modern',
    'legacy',
    'modern',
  ]);
  expect((await ola?.get('/servers/same?principal=bob'))?.status).toBe(404);
  expect((await bob?.get('/servers/same?principal=ann'))?.status).toBe(404);
  expect((await ann?.get('/servers/same'))?.body['era']).toBe('legacy');
  expect(await ola?.items('/calls?principal=ann')).toHaveLength(2);
  expect(await ola?.items('/calls')).toHaveLength(3);
  expect(await bob?.items('/calls?principal=ann')).toEqual([]);
});

test('W-5: without a history servers and sessions are shown, and tools cannot be called', async () => {
  const { hub, person } = await setup({ history: { keepMs: 0 } });
  await hub.call('execute_tool', { server: 'old', tool: 'ask' });
  expect((await person.get('/me')).body).toMatchObject({ history: { keepMs: 0 } });
  expect([await person.items('/questions'), await person.items('/calls')]).toEqual([[], []]);
  expect(await person.items('/sessions')).toMatchObject([{ questions: 1 }]);
  const refused = await person.post('/servers/old/calls', { tool: 'echo', arguments: { text: 'x' } });
  expect([refused.status, codeOf(refused)]).toEqual([409, 'history_off']);
  expect(refused.text).toContain('history.keepMs');
});

test('W-4: without a history stored entries of other gateways are not shown as running', async () => {
  const { gateway, person } = await setup({ history: { keepMs: 0 } });
  const about = { principal: 'local', server: 'old', sessionId: 'gone' };
  const call = { kind: 'call', id: 'c', ...about, tool: 'echo', view: 'hub', startedAt: Date.now() } as const;
  const question = { kind: 'question', id: 'q', ...about, asks: 'elicitation', createdAt: 1, expiresAt: 2 } as const;
  await gateway.gateway.store.history.append([
    { entry: { ...call, status: 'running', waits: [], argumentBytes: 2 } },
    { entry: { ...question, status: 'open' } },
  ]);
  expect(await person.items('/calls')).toEqual([]);
  expect((await person.get('/questions')).body).toEqual({ items: [], total: 0 });
  expect((await person.get('/calls/c')).status).toBe(404);
  expect((await person.get('/questions/q')).status).toBe(404);
});
