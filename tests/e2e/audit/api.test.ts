/** The audit record through the API: what real clients do becomes lines, and who sees which. */
import { expect, test } from 'vitest';
import { hashOf } from '../../../src/lib/canonical-json.ts';
import { atConsole, codeOf, JSON_HEADERS, raw, withToken } from '../../support/console.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { TestClock } from '../../support/test-clock.ts';
import { ANN, BOB, OLA, PEOPLE, servers } from '../console/setup.ts';

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

// Where the time of a gateway stands still, a call has no line before it ends.

test('G-5: calls have audit records that only their principal and operators see', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, { ...PEOPLE, audit: true }, new TestClock(Date.now()));
  const ola = withToken(gateway, OLA);
  for (const [token, kind] of [
    [ANN, 'v1'],
    [BOB, 'modern'],
  ] as const) {
    const hub = await hubOverHttp(gateway.url, kind, bearer(token), 'editor');
    await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'through the hub' } });
    const direct = await hubOverHttp(`${gateway.url}/new`, kind, bearer(token), 'editor');
    await direct.call('echo', { text: 'directly' });
  }
  const lines = await ola.items('/audit?kind=call&after=0');
  const about = { kind: 'call', event: 'ended', outcome: 'completed', tool: 'echo', program: 'editor' };
  expect(lines).toMatchObject([
    { ...about, principal: 'ann', server: 'old', view: 'hub', contentHash: hashOf({ text: 'through the hub' }) },
    { ...about, principal: 'ann', server: 'new', view: 'direct', contentHash: hashOf({ text: 'directly' }) },
    { ...about, principal: 'bob', server: 'old', view: 'hub' },
    { ...about, principal: 'bob', server: 'new', view: 'direct' },
  ]);
  expect(lines.map((line) => line['n'])).toEqual([1, 2, 3, 4]);
  const ann = withToken(gateway, ANN);
  expect((await ann.items('/audit')).map((line) => line['principal'])).toEqual(['ann', 'ann']);
  expect(await ann.items('/audit?principal=bob')).toEqual([]);
  expect((await ann.get('/me')).body).toMatchObject({ audit: { keepMs: 7_776_000_000, arguments: 'hash' } });
});

test('G-5: answers, sign-ins, refused tokens and server changes have audit records', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, { ...PEOPLE, audit: true, addServerAddresses: 'any' });
  const hub = await hubOverHttp(gateway.url, 'v1', bearer(ANN), 'editor');
  await hub.call('execute_tool', { server: 'new', tool: 'ask', args: {} });
  const ola = await atConsole(gateway, OLA);
  const question = await ola.one('/questions');
  const answer = { action: 'accept', content: { name: 'Ada' } };
  expect((await ola.post(`/questions/${question.id}/answer`, answer)).status).toBe(200);
  const wrong = { method: 'POST', headers: JSON_HEADERS, body: { key: 'wrong' } };
  expect((await raw(gateway, '/console/sign-in', wrong)).status).toBe(401);
  expect((await withToken(gateway, 'wrong').get('/me')).status).toBe(401);
  expect((await raw(gateway, '/mcp', { method: 'POST', headers: bearer('wrong') })).status).toBe(401);
  await hub.call('add_server', { name: 'third', url: config['old']?.url });
  await hub.call('remove_server', { name: 'third' });
  const asked = { principal: 'ann', program: 'editor', server: 'new', tool: 'ask', questionId: question.id };
  expect(await ola.items('/audit?after=0&kind=question')).toMatchObject([{ event: 'asked', ...asked }]);
  expect(await ola.items('/audit?after=0&kind=answer')).toMatchObject([
    {
      event: 'given',
      ...asked,
      outcome: 'accepted',
      answeredBy: { principal: 'ola', via: 'console' },
      contentHash: hashOf(answer),
    },
  ]);
  expect(await ola.items('/audit?after=0&kind=sign_in')).toMatchObject([
    {
      event: 'accepted',
      place: 'console',
      principal: 'ola',
      method: 'token',
      address: expect.stringContaining('127.0.0.1'),
    },
    { event: 'refused', place: 'console' },
    { event: 'refused', place: 'api' },
    { event: 'refused', place: 'mcp' },
  ]);
  expect(await ola.items('/audit?after=0&kind=server')).toMatchObject([
    { event: 'added', principal: 'ann', program: 'editor', server: 'third', address: config['old']?.url },
    { event: 'removed', principal: 'ann', server: 'third' },
  ]);
  // Those whose lines they are not: the question and the call of ann, and nothing else.
  const ofAnn = await withToken(gateway, ANN).items('/audit');
  expect(new Set(ofAnn.map((line) => line['principal']))).toEqual(new Set(['ann']));
  expect(await ola.items('/audit?principal=ola')).toMatchObject([{ kind: 'answer' }, { kind: 'sign_in' }]);
});

test('G-5: the audit API has pages and filters, and refuses wrong parameters', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, { audit: { arguments: 'keep' } }, new TestClock(Date.now()));
  const hub = await hubOverHttp(gateway.url, 'v1', {}, 'editor');
  for (const text of ['a', 'b', 'c']) await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text } });
  await hub.call('execute_tool', { server: 'new', tool: 'fail', args: {} });
  const person = withToken(gateway, gateway.console.key);
  const texts = (items: unknown): unknown =>
    (items as { content: { text?: string } }[]).map(({ content }) => content.text);
  const first = await person.get('/audit?server=old&limit=2');
  expect(texts(first.body['items'])).toEqual(['c', 'b']);
  const second = await person.get(`/audit?server=old&limit=2&cursor=${String(first.body['next'])}`);
  expect(texts(second.body['items'])).toEqual(['a']);
  expect(second.body).not.toHaveProperty('next');
  const oldest = await person.get('/audit?server=old&limit=2&after=0');
  expect(texts(oldest.body['items'])).toEqual(['a', 'b']);
  const rest = await person.get(`/audit?server=old&after=${String(oldest.body['seq'])}`);
  expect(texts(rest.body['items'])).toEqual(['c']);
  // The line of the other server is known, too.
  expect(await person.items(`/audit?after=${String(rest.body['seq'])}`)).toEqual([]);
  expect(await person.items('/audit?tool=echo&text=EDITOR')).toHaveLength(3);
  expect(await person.items(`/audit?to=${Date.now() - 60_000}`)).toEqual([]);
  for (const query of ['kind=none', 'limit=0', 'cursor=nonsense', 'after=x', 'colour=red']) {
    const reply = await person.get(`/audit?${query}`);
    expect([reply.status, codeOf(reply)], query).toEqual([400, 'invalid_parameter']);
  }
});

test('G-5: without the audit setting the API names the setting', async () => {
  const gateway = await httpGateway({});
  const person = withToken(gateway, gateway.console.key);
  const reply = await person.get('/audit');
  expect([reply.status, codeOf(reply)]).toEqual([409, 'audit_off']);
  expect(reply.text).toContain('\\"audit\\": true');
  expect((await person.get('/me')).body).not.toHaveProperty('audit');
});
