/** Calls that need approval, wherever clients make them and people answer. */
import { describe, expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { atConsole } from '../../support/console.ts';
import { runCommand } from '../../support/command.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { programInTerminal } from '../../support/terminal.ts';
import { errorOf, JSON_HEADERS, modernCall, modernHeaders, post, rawSession } from '../../support/raw-http.ts';
import { askableOverHttp } from '../native-questions/clients.ts';

const ASK = { tool: 'echo', then: 'ask', message: 'Think twice.', remember: true };
const NOBODY = { sampling: {} };
const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

interface Setup {
  server: V1Http;
  gateway: TestGateway;
  /** What reached the server. */
  received: () => unknown[];
}

async function setup(rules: Json[] = [ASK], settings: Json = {}): Promise<Setup> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ old: { url: server.url } }, { rules, ...settings });
  return { server, gateway, received: () => server.state.calls.map(({ args }) => args['text']) };
}

const EXECUTE = { server: 'old', tool: 'echo', args: { text: 'hi' } };

describe.each(KINDS)('a %s client with elicitation', (kind) => {
  test('G-1, G-2: is asked at the hub with the arguments, and the call is sent after its approval', async () => {
    const { gateway, received } = await setup();
    const hub = await askableOverHttp(gateway.url, kind);
    const reply = hub.call('execute_tool', EXECUTE);
    const { params } = await hub.person.question();
    expect(params['message']).toBe('Allow echo on old?\nThink twice.\nArguments: {\n  "text": "hi"\n}');
    expect(received()).toEqual([]);
    await hub.person.accepts({ decision: 'allow' });
    expect((await reply).text).toBe('hi');
    expect(received()).toEqual(['hi']);
  });

  test('G-1, G-2: is asked at a direct endpoint, and a denied call is not sent', async () => {
    const { gateway, received } = await setup();
    const direct = await askableOverHttp(`${gateway.url}/old`, kind);
    const denied = direct.call('echo', { text: 'hi' });
    await direct.person.accepts({ decision: 'deny' });
    expect(await denied).toMatchObject({ isError: true, text: expect.stringContaining('denied it') as string });
    const always = direct.call('echo', { text: 'hi' });
    await direct.person.accepts({ decision: 'always' }, 1);
    expect((await always).text).toBe('hi');
    expect((await direct.call('echo', { text: 'again' })).text).toBe('again');
    expect(direct.person.asked).toHaveLength(2);
    expect(received()).toEqual(['hi', 'again']);
  });

  test('G-1: gets a tool error for a denied call, in every view', async () => {
    const { gateway, received } = await setup([{ tool: 'echo', then: 'deny', message: 'Not here.' }]);
    const group = (await askableOverHttp(`${gateway.url}/all`, kind)).call('old__echo', { text: 'hi' });
    const direct = (await askableOverHttp(`${gateway.url}/old`, kind)).call('echo', { text: 'hi' });
    const hub = (await askableOverHttp(gateway.url, kind)).call('execute_tool', EXECUTE);
    for (const reply of await Promise.all([group, direct, hub])) {
      expect(reply.isError).toBe(true);
      expect(reply.text).toContain(
        "'echo' on server 'old' was not called: a rule of the gateway denies this call (Not here.)",
      );
    }
    expect(received()).toEqual([]);
  });
});

describe.each(KINDS)('a %s client without elicitation', (kind) => {
  test('G-1: gets a task at the hub, and approves with the hub tools', async () => {
    const { gateway, received } = await setup();
    const hub = await hubOverHttp(gateway.url, kind);
    const reply = await hub.call('execute_tool', EXECUTE);
    const [pending] = reply.elicitations;
    expect(pending?.message).toContain('Allow echo on old?');
    const content = { decision: 'allow' };
    await hub.call('respond_to_elicitation', { request_id: pending?.requestId, action: 'accept', content });
    expect((await hub.call('get_task_result', { task_id: taskIdOf(reply) })).text).toBe('hi');
    expect(received()).toEqual(['hi']);
  });

  test('G-1, G-2: waits at a direct endpoint for a person at the console, who sees the arguments', async () => {
    const { gateway, received } = await setup([{ ...ASK, approver: 'person' }]);
    const direct = await askableOverHttp(`${gateway.url}/old`, kind, NOBODY);
    const reply = direct.call('echo', { text: 'hi' });
    const person = await atConsole(gateway);
    const question = await person.one('/questions?status=open');
    expect(question).toMatchObject({
      tool: 'echo',
      approval: { tool: 'echo', approver: 'person' },
      params: { _meta: { 'meanwhile/approval': { arguments: { text: 'hi' }, message: 'Think twice.' } } },
      arguments: { text: 'hi' },
    });
    const content = { decision: 'allow' };
    const path = `/questions/${question.id}/answer`;
    expect((await person.post(path, { action: 'accept', content })).status).toBe(200);
    expect((await reply).text).toBe('hi');
    expect(received()).toEqual(['hi']);
    expect(await person.one('/questions?status=ended')).toMatchObject({
      status: 'accepted',
      approval: { decision: 'allow' },
      answeredBy: { principal: 'local', via: 'console' },
    });
    expect((await person.post(path, { action: 'accept', content })).status).toBe(409);
  });
});

test('G-2: without an approval in time the call fails, also for a client without elicitation', async () => {
  const { gateway, received } = await setup([{ ...ASK, timeoutMs: 50 }]);
  const direct = await askableOverHttp(`${gateway.url}/old`, 'v1', NOBODY);
  const reply = await direct.call('echo', { text: 'hi' });
  expect(reply).toMatchObject({ isError: true, text: expect.stringContaining('no person decided within') as string });
  expect(received()).toEqual([]);
});

test('G-1: no unusual form of tools/call bypasses the rules', async () => {
  const { gateway, received } = await setup([{ tool: 'echo', then: 'deny' }]);
  const url = `${gateway.url}/old`;
  const { headers } = await rawSession(url);
  const call = (params: Json, id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params });
  const odd = [{ name: 'echo', arguments: ['hi'] }, { name: ['echo'], arguments: { text: 'hi' } }, { arguments: {} }];
  for (const [id, params] of odd.entries()) {
    expect(errorOf(await post(url, call(params, id + 1), headers)).message).toContain(
      'the rules of this gateway require',
    );
  }
  // Without an id it is a notification, which some servers would run all the same.
  const { id: _none, ...notification } = call({ name: 'echo', arguments: { text: 'hi' } }, 0);
  await post(url, notification, headers);
  const all = `${gateway.url}/all`;
  await post(all, notification, (await rawSession(all)).headers);
  const task = await post(url, call({ name: 'echo', arguments: { text: 'hi' }, task: { ttl: 60_000 } }, 10), headers);
  const { taskId } = (task.json['result'] as { task: { taskId: string } }).task;
  const result = await post(url, { jsonrpc: '2.0', id: 11, method: 'tasks/result', params: { taskId } }, headers);
  expect(result.json['result']).toMatchObject({ isError: true });
  const modern = modernCall('echo', {}, 12);
  const params = { ...(modern['params'] as Json), arguments: 'hi' };
  const answered = await post(url, { ...modern, params }, { ...JSON_HEADERS, ...modernHeaders('echo') });
  expect(JSON.stringify(answered.json)).toContain('error');
  expect(received()).toEqual([]);
});

test('G-1: a tool call from the console requires approval, which the terminal can give', async () => {
  const { gateway, received } = await setup();
  const person = await atConsole(gateway);
  const tried = await person.post('/servers/old/calls', { tool: 'echo', arguments: { text: 'hi' } });
  expect(tried.status, tried.text).toBe(202);
  const { id } = await person.one('/questions?status=open');
  expect(received()).toEqual([]);
  const at = ['--url', gateway.url, `--token=${gateway.console.key}`];
  const listed = await runCommand(['inbox', ...at]);
  expect(listed.stdout).toContain('old echo');
  expect(listed.stdout).toContain('Allow echo on old?');
  const answered = await runCommand(['inbox', id, '--answer', '{"decision":"allow"}', ...at]);
  expect(answered).toMatchObject({ code: 0, stderr: expect.stringContaining('Approval needed: Allow echo') as string });
  await expect.poll(received).toEqual(['hi']);
  expect(await person.one('/questions?status=ended')).toMatchObject({ answeredBy: { via: 'terminal' } });
});

test('G-1, G-2: the inbox on a terminal asks for the decision, and Enter denies', async () => {
  const { gateway, received } = await setup();
  const direct = await askableOverHttp(`${gateway.url}/old`, 'v1', NOBODY);
  const reply = direct.call('echo', { text: 'hi' });
  await (await atConsole(gateway)).one('/questions?status=open');
  const terminal = await programInTerminal(['inbox', '--url', gateway.url, `--token=${gateway.console.key}`]);
  await terminal.shows('Approval needed: Allow echo on old?');
  await terminal.shows('"text": "hi"');
  await terminal.shows('Always allow echo in this session');
  await terminal.shows('● Deny');
  terminal.press('Enter');
  expect((await terminal.ended()).code).toBe(0);
  expect((await reply).text).toContain('denied it');
  expect(received()).toEqual([]);
});
