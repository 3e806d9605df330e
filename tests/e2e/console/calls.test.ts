/** Work: calls and tasks, their progress, results and ends. */
import { describe, expect, test } from 'vitest';
import { codeOf, type Item } from '../../support/console.ts';
import { taskIdOf, type Json } from '../../support/hub.ts';
import { setup } from './setup.ts';

describe.each(['old', 'new'])('a server of the %s era', (server) => {
  test('W-3: calls are listed with their outcome, and one call is shown with arguments and result', async () => {
    const { hub, person } = await setup();
    await hub.call('execute_tool', { server, tool: 'echo', args: { text: 'hello' } });
    await hub.call('execute_tool', { server, tool: 'fail' });
    await hub.call('execute_tool', { server, tool: 'rpc_error' });
    const calls = await person.waitFor('/calls?status=ended', 3);
    expect(calls).toMatchObject([
      {
        server,
        tool: 'rpc_error',
        status: 'failed',
        error: { code: -32011, message: expect.stringContaining('quota') },
      },
      { server, tool: 'fail', status: 'completed', isError: true },
      { server, tool: 'echo', status: 'completed', view: 'hub', program: 'test', principal: 'local', waits: [] },
    ]);
    const [, , echo] = calls as [Item, Item, Item];
    expect(echo).not.toHaveProperty('result');
    expect(echo).not.toHaveProperty('taskId');
    expect((await person.get(`/calls/${echo.id}`)).body).toMatchObject({
      arguments: { text: 'hello' },
      result: { content: [{ type: 'text', text: 'hello' }] },
      questions: [],
    });
  });

  test('W-3, W-4: a call that waits for an answer is listed as waiting, with its questions', async () => {
    const { hub, person } = await setup();
    const reply = await hub.call('execute_tool', { server, tool: 'ask' });
    const call = await person.one('/calls?status=waiting');
    expect(call).toMatchObject({ tool: 'ask', taskId: taskIdOf(reply) });
    const details = (await person.get(`/calls/${call.id}`)).body;
    const [question] = details['questions'] as [Json];
    expect(question).toMatchObject({ status: 'open', callId: call.id });
    expect(details['waits']).toEqual([{ questionId: question['id'], from: expect.any(Number) }]);
    await person.post(`/questions/${String(question['id'])}/answer`, { action: 'accept', content: { name: 'Ada' } });
    const ended = await person.one('/calls?outcome=completed');
    expect(ended).toMatchObject({ id: call.id, waits: [{ from: expect.any(Number), to: expect.any(Number) }] });
  });

  test('W-3: a task is cancelled once', async () => {
    const { hub, person } = await setup();
    const reply = await hub.call('execute_tool', { server, tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
    const { id } = await person.one('/calls?status=running&task=true');
    const cancelled = await person.post(`/calls/${id}/cancel`);
    expect([cancelled.status, cancelled.body]).toMatchObject([200, { id, status: 'cancelled' }]);
    const { body } = await hub.call('get_task', { task_id: taskIdOf(reply) });
    expect(body['task']).toMatchObject({ status: 'cancelled' });
    const again = await person.post(`/calls/${id}/cancel`);
    expect([again.status, codeOf(again), again.body['call']]).toMatchObject([
      409,
      'already_ended',
      { status: 'cancelled' },
    ]);
  });

  test('W-3: a call that is no task is cancelled, and its client gets the reason', async () => {
    const { hub, person } = await setup();
    const calling = hub.call('execute_tool', { server, tool: 'slow', args: { ms: 60_000 } });
    const { id } = await person.one('/calls?status=running&task=false');
    expect((await person.post(`/calls/${id}/cancel`)).body).toMatchObject({ id, status: 'cancelled' });
    const { isError, text } = await calling;
    expect([isError, text]).toEqual([true, expect.stringContaining('cancelled by local in the console')]);
  });
});

test('W-3: progress is shown while a task runs', async () => {
  const { hub, person } = await setup();
  void hub.call('execute_tool', { server: 'old', tool: 'slow', args: { ms: 4000, steps: 8 }, timeout_ms: 1 });
  await expect
    .poll(async () => (await person.items('/calls?status=running'))[0]?.['progress'], { interval: 100 })
    .toMatchObject({ progress: expect.any(Number), total: 8 });
});

test('W-3, W-4: calls are filtered and read in pages', async () => {
  const { hub, person } = await setup();
  const began = Date.now();
  for (let index = 0; index < 5; index += 1) {
    await hub.call('execute_tool', {
      server: index < 3 ? 'old' : 'new',
      tool: 'echo',
      args: { text: `text ${index}` },
    });
  }
  await hub.call('execute_tool', { server: 'old', tool: 'fail' });
  await person.waitFor('/calls', 6);
  expect(await person.items('/calls?server=new')).toHaveLength(2);
  expect(await person.items('/calls?tool=fail')).toHaveLength(1);
  expect(await person.items('/calls?task=true')).toEqual([]);
  expect(await person.items('/calls?outcome=failed')).toEqual([]);
  expect(await person.items(`/calls?from=${began}`)).toHaveLength(6);
  expect(await person.items(`/calls?to=${began}`)).toEqual([]);
  expect(await person.items('/calls?text=FAIL')).toHaveLength(1);
  const first = (await person.get('/calls?limit=4')).body;
  expect(first['items']).toHaveLength(4);
  const rest = (await person.get(`/calls?limit=4&cursor=${String(first['next'])}`)).body;
  expect(rest['items']).toHaveLength(2);
  expect(rest).not.toHaveProperty('next');
  for (const wrong of [
    '/calls?task=maybe',
    '/calls?from=yesterday',
    '/calls?outcome=fine',
    '/calls?status=running&outcome=failed',
  ]) {
    expect((await person.get(wrong)).status, wrong).toBe(400);
  }
  expect((await person.get('/calls/unknown')).status).toBe(404);
});

test('W-3: a result that is too large for the history is not kept, and is marked as truncated', async () => {
  const { hub, person } = await setup();
  await hub.call('execute_tool', { server: 'old', tool: 'big', args: { bytes: 200_000 } });
  const { id } = await person.one('/calls?status=ended');
  const { body } = await person.get(`/calls/${id}`);
  expect(body).toMatchObject({ truncated: true });
  expect(Number(body['resultBytes'])).toBeGreaterThan(200_000);
  expect(body).not.toHaveProperty('result');
});

test('W-3, W-5: running calls are read by index, and calls are not counted for each request', async () => {
  const { gateway, person } = await setup();
  const { history } = gateway.gateway.store;
  const [read, tally] = [history.read.bind(history), history.tally.bind(history)];
  const asked: unknown[] = [];
  let counted = 0;
  history.read = async (query) => {
    asked.push([query.statuses, query.active]);
    return read(query);
  };
  for (const status of ['running', 'waiting', 'ended', 'all']) await person.items(`/calls?status=${status}`);
  expect(asked).toEqual([
    [['running'], true],
    [['waiting'], true],
    [undefined, false],
    [undefined, undefined],
  ]);
  history.tally = async (...given) => {
    counted += 1;
    return tally(...given);
  };
  await Promise.all([person.items('/servers'), person.items('/servers'), person.get('/servers/old')]);
  expect(counted).toBe(1);
});

test('W-3: a result that is too large for the history is read from its task while the task exists', async () => {
  const { hub, person } = await setup({ history: { entryBytes: 1024 } });
  const text = 'x'.repeat(5000);
  const { body: begun } = await person.post('/servers/old/calls', { tool: 'echo', arguments: { text } });
  const path = `/calls/${String(begun['id'])}`;
  await expect
    .poll(async () => (await person.get(path)).body)
    .toMatchObject({ truncated: true, resultBytes: expect.any(Number) });
  expect((await person.get(path)).body).not.toHaveProperty('result');
  expect((await person.get(`${path}/result`)).body).toMatchObject({ content: [{ type: 'text', text }] });
  // A call that was no task has given its result to its client.
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text } });
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'short' } });
  const [short, long] = await person.waitFor('/calls?session=' + String(hub.sessionId()), 2);
  const gone = await person.get(`/calls/${String(long?.id)}/result`);
  expect([gone.status, gone.text]).toEqual([404, expect.stringContaining('history.entryBytes')]);
  expect((await person.get(`/calls/${String(short?.id)}/result`)).body).toMatchObject({ content: [{ text: 'short' }] });
});
