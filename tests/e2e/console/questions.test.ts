/** The inbox: what waits for a person, and who answered. */
import { describe, expect, test } from 'vitest';
import { atConsole, codeOf, withToken, wonAndLost } from '../../support/console.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { ANN, asked, BOB, OLA, PEOPLE, servers, setup } from './setup.ts';

describe.each(['old', 'new'])('a server of the %s era', (server) => {
  test('W-2: a question is listed in full, and its answer reaches the server', async () => {
    const { hub, person } = await setup();
    const call = await hub.call('execute_tool', { server, tool: 'ask', args: { message: 'Your name?' } });
    const question = await person.one('/questions');
    expect(question).toMatchObject({
      kind: 'elicitation',
      mode: 'form',
      status: 'open',
      server,
      tool: 'ask',
      principal: 'local',
      program: 'test',
      message: 'Your name?',
      arguments: { message: 'Your name?' },
      params: { message: 'Your name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
    });
    expect(Number(question['expiresAt'])).toBeGreaterThan(Number(question['createdAt']));
    expect((await person.get(`/questions/${question.id}`)).body).toMatchObject({ id: question.id, arguments: {} });
    const answered = await person.post(`/questions/${question.id}/answer`, {
      action: 'accept',
      content: { name: 'Ada' },
    });
    expect([answered.status, answered.body]).toMatchObject([
      200,
      { status: 'accepted', answeredBy: { principal: 'local', via: 'console' } },
    ]);
    const { text } = await hub.call('get_task_result', { task_id: taskIdOf(call) });
    expect(text).toBe('Hello Ada');
    expect(await person.items('/questions')).toEqual([]);
    expect(await person.items('/questions?status=ended')).toMatchObject([{ id: question.id, status: 'accepted' }]);
  });

  test('W-2: decline and cancel are accepted as answers', async () => {
    const { hub, person } = await setup();
    for (const [action, status] of [
      ['decline', 'declined'],
      ['cancel', 'cancelled'],
    ]) {
      const { id } = await asked(hub, person, server);
      expect((await person.post(`/questions/${id}/answer`, { action })).body).toMatchObject({ status });
    }
  });

  test('W-2: an invalid answer is refused with errors per field, and the question stays open', async () => {
    const { hub, person } = await setup();
    const { id } = await asked(hub, person, server);
    const refused = async (answer: Json): Promise<unknown[]> => {
      const reply = await person.post(`/questions/${id}/answer`, answer);
      const { code, fields } = reply.body['error'] as Json;
      return [reply.status, code, fields];
    };
    expect(await refused({ action: 'accept', content: { name: 5 } })).toEqual([
      422,
      'invalid_answer',
      { name: 'expected a string' },
    ]);
    expect(await refused({ action: 'accept', content: {} })).toEqual([
      422,
      'invalid_answer',
      { name: 'an answer is required' },
    ]);
    expect(await refused({ action: 'accept' })).toEqual([422, 'invalid_answer', {}]);
    expect(await refused({ result: { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } } })).toEqual([
      422,
      'invalid_answer',
      {},
    ]);
    expect((await refused({ action: 'perhaps' }))[0]).toBe(400);
    expect((await refused({}))[0]).toBe(400);
    expect((await person.get(`/questions/${id}`)).body).toMatchObject({ status: 'open' });
  });

  test('W-2: a sampling request is answered or declined', async () => {
    const { hub, person } = await setup();
    const call = await hub.call('execute_tool', { server, tool: 'sample', args: { prompt: 'Say hi' } });
    const question = await person.one('/questions');
    expect(question).toMatchObject({ kind: 'sampling', message: 'Say hi', params: { maxTokens: 64 } });
    const result = { role: 'assistant', model: 'person', content: { type: 'text', text: 'hi' } };
    const unknown = { ...result, content: { type: 'tool_use', id: 't', name: 'unknown', input: {} } };
    const wrong = await person.post(`/questions/${question.id}/answer`, { result: unknown });
    expect([wrong.status, codeOf(wrong)], wrong.text).toEqual([422, 'invalid_answer']);
    const { status, body } = await person.post(`/questions/${question.id}/answer`, { result });
    expect([status, body]).toMatchObject([200, { status: 'completed' }]);
    const { text } = await hub.call('get_task_result', { task_id: taskIdOf(call) });
    expect(JSON.parse(text)).toMatchObject({ ...result, stopReason: 'endTurn' });
    const second = await asked(hub, person, server, 'sample', { prompt: 'Again' });
    const refused = await person.post(`/questions/${second.id}/answer`, { error: { message: 'no time' } });
    expect([refused.status, refused.body]).toMatchObject([
      200,
      { status: 'rejected', reason: 'no time', answeredBy: { via: 'console' } },
    ]);
  });

  test('W-2: of two simultaneous answers one is accepted, and the other gets the name of the first', async () => {
    const { gateway, hub, person } = await setup();
    const other = withToken(gateway, gateway.console.key);
    const { id } = await asked(hub, person, server);
    const answer = { action: 'accept', content: { name: 'Ada' } };
    const replies = await Promise.all([
      person.post(`/questions/${id}/answer`, answer),
      other.post(`/questions/${id}/answer`, answer),
    ]);
    const [won, lost] = wonAndLost(replies);
    expect(codeOf(lost)).toBe('already_answered');
    expect(lost.body['question']).toMatchObject({ id, status: 'accepted', answeredBy: won.body['answeredBy'] });
    expect(['console', 'terminal']).toContain((won.body['answeredBy'] as Json)['via']);
    // And so is everyone who comes later.
    const late = await person.post(`/questions/${id}/answer`, answer);
    expect([late.status, late.body['question']]).toMatchObject([409, { status: 'accepted' }]);
  });
});

test('W-2: an answer given through the hub is shown', async () => {
  const { hub, person } = await setup();
  const { id } = await asked(hub, person, 'old');
  await hub.call('respond_to_elicitation', { request_id: id, action: 'accept', content: { name: 'Ada' } });
  const { status, body } = await person.post(`/questions/${id}/answer`, { action: 'decline' });
  expect([status, body['question']]).toMatchObject([
    409,
    { status: 'accepted', answeredBy: { principal: 'local', via: 'tools' } },
  ]);
});

test('W-2: a withdrawn or expired question cannot be answered', async () => {
  const { hub, person } = await setup();
  const { id } = await asked(hub, person, 'old', 'withdraw', { ms: 300 });
  await person.waitFor('/questions', 0);
  const { status, body } = await person.post(`/questions/${id}/answer`, { action: 'decline' });
  expect([status, body['question']]).toMatchObject([409, { status: 'rejected' }]);
  expect((body['question'] as Json)['reason']).toMatch(/withdrawn|no longer needed/);
});

test('W-2: an answer is late if its question ends while the answer is stored', async () => {
  const { gateway, hub, person } = await setup();
  const { id, sessionId } = await asked(hub, person, 'old', 'withdraw', { ms: 500 });
  const interactions = gateway.gateway.sessions.find((session) => session.id === sessionId)?.interactions;
  if (interactions === undefined) throw new Error('there is no such session');
  const answer = interactions.answer.bind(interactions);
  interactions.answer = async (...given) => {
    await person.waitFor('/questions', 0);
    return answer(...given);
  };
  const reply = await person.post(`/questions/${id}/answer`, { action: 'accept', content: { name: 'Ada' } });
  expect([reply.status, codeOf(reply), reply.body['question']]).toMatchObject([409, 'already_answered', { id }]);
});

test('W-2: a question with a URL is accepted without content', async () => {
  const { hub, person } = await setup();
  const question = await asked(hub, person, 'old', 'ask_url');
  expect(question).toMatchObject({ mode: 'url', params: { url: 'https://example.com/authorize?state=1' } });
  expect((await person.post(`/questions/${question.id}/answer`, { action: 'accept' })).status).toBe(200);
});

test('W-2: a form with a password field is marked as secret', async () => {
  const { hub, person } = await setup();
  expect(await asked(hub, person, 'old', 'ask', { field: 'password' })).toMatchObject({ secret: true });
  expect(await person.items('/questions?status=ended')).toEqual([]);
});

test('W-2, W-7: a person sees and answers only questions of their principal, and an operator all', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, PEOPLE);
  const ofAnn = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${ANN}` });
  const ofBob = await hubOverHttp(gateway.url, 'modern', { authorization: `Bearer ${BOB}` });
  const [ann, bob, ola] = [withToken(gateway, ANN), await atConsole(gateway, BOB), await atConsole(gateway, OLA)];
  const annsQuestion = await asked(ofAnn, ann, 'old');
  const bobsQuestion = await asked(ofBob, bob, 'new');
  expect(await ola.waitFor('/questions', 2)).toMatchObject([{ principal: 'ann' }, { principal: 'bob' }]);
  const foreign = await bob.get(`/questions/${annsQuestion.id}`);
  expect([foreign.status, codeOf(foreign)]).toEqual([404, 'not_found']);
  const decline = { action: 'decline' };
  expect((await bob.post(`/questions/${annsQuestion.id}/answer`, decline)).status).toBe(404);
  expect((await ann.get(`/calls/${String(bobsQuestion['callId'])}`)).status).toBe(404);
  expect((await ann.post(`/calls/${String(bobsQuestion['callId'])}/cancel`)).status).toBe(404);
  expect((await ola.post(`/questions/${annsQuestion.id}/answer`, decline)).body).toMatchObject({
    principal: 'ann',
    answeredBy: { principal: 'ola', via: 'console' },
  });
  expect((await ann.post(`/questions/${annsQuestion.id}/answer`, decline)).body['question']).toMatchObject({
    answeredBy: { principal: 'ola' },
  });
});

test('W-2: long lists are read in pages, in order, and can be searched', async () => {
  const { hub, person } = await setup();
  const names = Array.from({ length: 7 }, (_, index) => `Question ${index}`);
  for (const message of names) await hub.call('execute_tool', { server: 'old', tool: 'ask', args: { message } });
  await person.waitFor('/questions', 7);
  const seen: unknown[] = [];
  let next: unknown = '';
  let pages = 0;
  do {
    const { body } = await person.get(`/questions?limit=3${next === '' ? '' : `&cursor=${String(next)}`}`);
    seen.push(...(body['items'] as Json[]).map(({ message }) => message));
    expect(body['total']).toBe(7);
    ({ next } = body);
    pages += 1;
  } while (next !== undefined);
  expect([seen, pages]).toEqual([names, 3]);
  expect(await person.items('/questions?text=question%203')).toMatchObject([{ message: 'Question 3' }]);
  expect(await person.items('/questions?server=new')).toEqual([]);
  expect(await person.items('/questions?status=ended')).toEqual([]);
  expect(await person.items('/questions?status=all')).toHaveLength(7);
  expect(await person.items(`/questions?session=${hub.sessionId()}`)).toHaveLength(7);
  expect(await person.items('/questions?session=other')).toEqual([]);
});

test('W-10: the error for a wrong parameter names the parameter', async () => {
  const { person } = await setup();
  const wrong = async (path: string): Promise<unknown> => {
    const { status, body } = await person.get(path);
    expect(status, path).toBe(400);
    return (body['error'] as Json)['message'];
  };
  expect(await wrong('/questions?limit=0')).toContain("'limit'");
  expect(await wrong('/questions?limit=201')).toContain("'limit'");
  expect(await wrong('/questions?limit=ten')).toContain("'limit'");
  expect(await wrong('/questions?limit=1&limit=2')).toContain("'limit' is given twice");
  expect(await wrong('/questions?status=closed')).toContain("'status'");
  expect(await wrong('/questions?cursor=nonsense')).toContain("'cursor'");
  expect(await wrong('/questions?colour=red')).toMatch(/'colour'.*known: status, server/);
  expect(await wrong(`/questions?text=${'x'.repeat(300)}`)).toContain("'text'");
  expect(await wrong('/questions/%E0%A4%A')).toContain('path');
  expect((await person.get('/questions/unknown')).status).toBe(404);
  expect((await person.get('/nothing')).status).toBe(404);
  const method = await person.post('/questions');
  expect([method.status, method.headers['allow']]).toEqual([405, 'GET']);
});
