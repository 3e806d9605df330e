/** Links in messages that answer a question: reading one changes nothing, and it works once. */
import { describe, expect, test } from 'vitest';
import { ANSWER_KEY, ANSWER_PATH, openGrant, sealGrant } from '../../../src/core/notify/answer-link.ts';
import { raw, type ConsoleReply } from '../../support/console.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { notified, type Notified } from './setup.ts';

const LINKS = { answerLinks: true };

async function get(gateway: TestGateway, link: string, method = 'GET'): Promise<ConsoleReply> {
  return raw(gateway, new URL(link).pathname, { method });
}

async function post(gateway: TestGateway, link: string, form: Record<string, string>): Promise<ConsoleReply> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'null' };
  return raw(gateway, new URL(link).pathname, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
}

/** A call that asks, and the link that answers it. */
async function asking(
  { hub, told }: Notified,
  server: string,
  tool = 'ask',
  args = {},
): Promise<{ link: string; taskId: string }> {
  const call = await hub.call('execute_tool', { server, tool, args });
  const { data } = await told('question.opened');
  return { link: data['answerLink'] ?? '', taskId: taskIdOf(call) };
}

describe.each(['old', 'new'])('a server of the %s era', (server) => {
  test('N-2: GET shows the question repeatedly, and POST answers it once', async () => {
    const all = await notified(LINKS);
    const { gateway, hub, person } = all;
    const { link, taskId } = await asking(all, server, 'ask', { message: 'Your name?' });
    expect(link).toMatch(new RegExp(`^${new URL(gateway.url).origin}/answer/[\\w-]{100,}$`));
    for (let reader = 0; reader < 3; reader += 1) {
      const page = await get(gateway, link);
      expect(page.status).toBe(200);
      expect(page.text).toContain('Your name?');
      expect(page.text).toContain(`${server} asks a question`);
      expect(page.text).toContain('Tool: ask');
    }
    expect((await get(gateway, link, 'HEAD')).text).toBe('');
    expect(await person.one('/questions')).toMatchObject({ status: 'open' });
    const sent = await post(gateway, link, { 'field-0': 'Ada', action: 'accept' });
    expect([sent.status, sent.text]).toEqual([200, expect.stringContaining('Your answer was sent')]);
    expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Ada');
    expect(await person.items('/questions?status=ended')).toMatchObject([
      { status: 'accepted', answeredBy: { principal: 'local', via: 'link', name: 'hook' } },
    ]);
    for (const late of [await get(gateway, link), await post(gateway, link, { 'field-0': 'Eve', action: 'accept' })]) {
      expect(late.status).toBe(410);
      expect(late.text).toContain('It was answered with a link from a message. Nothing was sent');
    }
  });
});

test('N-2: a link accepts a decline and refuses an invalid answer', async () => {
  const all = await notified(LINKS);
  const { gateway, hub } = all;
  const { link, taskId } = await asking(all, 'old');
  const empty = await post(gateway, link, { 'field-0': '', action: 'accept' });
  expect([empty.status, empty.text]).toEqual([422, expect.stringContaining('an answer is required')]);
  const nothing = await post(gateway, link, { 'field-0': '"><script>' });
  expect(nothing.status).toBe(422);
  expect(nothing.text).toContain('value="&quot;&gt;&lt;script&gt;"');
  expect((await post(gateway, link, { action: 'decline' })).text).toContain('You have not answered');
  expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('declined');
});

test('N-2: of several simultaneous answers one is accepted', async () => {
  const all = await notified(LINKS);
  const { gateway } = all;
  const { link } = await asking(all, 'old');
  const names = ['Ada', 'Bob', 'Cy', 'Dee', 'Eve'];
  const replies = await Promise.all(
    names.map(async (name) => post(gateway, link, { 'field-0': name, action: 'accept' })),
  );
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410, 410, 410, 410]);
});

test('N-2: text of a server is escaped, and the page loads and sends nothing to other origins', async () => {
  const all = await notified(LINKS);
  const evil = `</p><script>alert(1)</script><img src=x onerror=alert(2)> "'& \u001B[31m`;
  const { link } = await asking(all, 'old', 'ask', { message: evil, field: '"><svg onload=alert(3)>' });
  const { text, headers } = await get(all.gateway, link);
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt; &quot;&#39;&amp;');
  expect(text).not.toMatch(/<script|<img|<svg/);
  expect(text).not.toContain('\u001B');
  expect(headers).toMatchObject({
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-type': 'text/html; charset=utf-8',
  });
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
});

test('N-2: a form that is complex or asks for a secret links to the console', async () => {
  const all = await notified(LINKS);
  const { link } = await asking(all, 'old', 'ask', { field: 'password' });
  const page = await get(all.gateway, link);
  expect(page.text).toMatch(/<a href="\/console#\/q\/\w+" rel="noreferrer">Open the console<\/a>/);
  expect(page.text).not.toContain('<form');
  expect((await post(all.gateway, link, { 'field-0': 'x', action: 'accept' })).text).not.toContain('was sent');
  expect(await all.person.one('/questions')).toMatchObject({ status: 'open' });
  // A page to visit, or a model, has no such link.
  await all.hub.call('execute_tool', { server: 'old', tool: 'ask_url', args: {} });
  expect((await all.told('question.opened')).data).not.toHaveProperty('answerLink');
});

test('N-2: a link is valid only if signed by this gateway, for its question and while its target allows links', async () => {
  const all = await notified(LINKS, {}, { questions: { timeoutMs: 60_000 } });
  const { gateway } = all;
  const { link } = await asking(all, 'old');
  const token = link.slice(link.lastIndexOf('/') + 1);
  const key = await gateway.gateway.store.secret(ANSWER_KEY);
  const grant = openGrant(key, token) ?? expect.fail();
  const at = async (text: string): Promise<number> => (await raw(gateway, ANSWER_PATH + text)).status;
  expect(await at(token)).toBe(200);
  expect(await at('')).toBe(404);
  expect(await at('x'.repeat(200))).toBe(404);
  expect(await at(`${token.slice(0, -2)}AA`)).toBe(404);
  expect(await at(sealGrant(Buffer.alloc(32, 7), grant))).toBe(404);
  expect(await at(sealGrant(key, { ...grant, target: 'other' }))).toBe(410);
  expect(await at(sealGrant(key, { ...grant, questionId: 'q' }))).toBe(410);
  expect(await at(sealGrant(key, { ...grant, principal: 'eve' }))).toBe(410);
  expect((await raw(gateway, new URL(link).pathname, { headers: { host: 'evil.test' } })).status).toBe(403);
  expect((await get(gateway, link, 'PUT')).status).toBe(405);
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: { action: 'decline' } };
  expect((await raw(gateway, new URL(link).pathname, json)).status).toBe(415);
});

test('N-2: without answerLinks messages contain only server, tool and console link', async () => {
  const all = await notified();
  const { gateway, hub, told } = all;
  await hub.call('execute_tool', { server: 'old', tool: 'ask', args: { message: 'Pin of card 4711?' } });
  const { text, data } = await told('question.opened');
  expect(Object.keys(data).toSorted()).toEqual([
    'expiresAt',
    'kind',
    'link',
    'principal',
    'questionId',
    'server',
    'tool',
  ]);
  expect(text).not.toContain('4711');
  expect(data['link']).toBe(`${new URL(gateway.url).origin}/console#/q/${data['questionId']}`);
  expect((await raw(gateway, '/answer/x')).status).toBe(404);
});

test('N-2: links use publicUrl', async () => {
  const all = await notified(LINKS, {}, { publicUrl: 'https://gw.example.com' });
  const { link } = await asking(all, 'old');
  expect(link).toMatch(/^https:\/\/gw\.example\.com\/answer\//);
  const headers = { host: 'gw.example.com' };
  expect((await raw(all.gateway, new URL(link).pathname, { headers })).status).toBe(200);
});
