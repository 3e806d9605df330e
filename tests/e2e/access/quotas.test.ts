import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf, type ClientKind, type Json } from '../../support/hub.ts';
import { parseOpenMetrics, valueOf } from '../../support/openmetrics.ts';
import { owned } from '../../support/owned.ts';
import { errorOf, INITIALIZE, post, rawSession, send } from '../../support/raw-http.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { ADA, BEN, TOKENS, twoHubs } from '../principals/two-hubs.ts';
import { echo } from '../servers/activity.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const slow = (more: Json = {}): Json => ({ server: 'one', tool: 'slow', args: { ms: 600_000 }, ...more });
const errorIn = ({ body }: { body: Json }): Json => body['error'] as Json;

test.each(KINDS)('A-N: calls per minute are limited per principal, over all endpoints (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url, ada, ben } = await twoHubs({ one: { url: server.url } }, kind, { quotas: { callsPerMinute: 3 } });
  expect([await echo(ada, 'one', 'a'), await echo(ada, 'one', 'b')]).toEqual(['a', 'b']);
  expect((await ada.call('read_resource', { server: 'one', uri: 'test://text' })).isError).toBe(false);
  const refused = await ada.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'c' } });
  expect(errorIn(refused)).toMatchObject({
    code: 'TOOL_ERR_LIMIT',
    details: { quota: 'callsPerMinute', limit: 3, retryAfterMs: expect.any(Number) as number },
  });
  const { retryAfterMs } = errorIn(refused)['details'] as { retryAfterMs: number };
  expect(retryAfterMs > 0 && retryAfterMs <= 60_000).toBe(true);
  for (const wire of [
    await LegacyWire.open(`${url}/one`, { headers: ADA }),
    new ModernWire(`${url}/all`, { headers: ADA }),
  ]) {
    const tool = wire instanceof ModernWire ? 'one__echo' : 'echo';
    expect(await wire.error('tools/call', { name: tool, arguments: { text: 'd' } })).toMatchObject({
      code: -32000,
      data: { code: 'TOOL_ERR_LIMIT', quota: 'callsPerMinute', limit: 3 },
    });
  }
  expect(server.state.calls.filter(({ tool }) => tool === 'echo')).toHaveLength(2);
  expect(await echo(ben, 'one', 'his')).toBe('his');
});

test('A-N: sessions above the quota get 429 with Retry-After, and are counted', async () => {
  const { url } = await httpGateway({}, { auth: { tokens: TOKENS }, quotas: { sessions: 1 } });
  const metrics = async () =>
    parseOpenMetrics((await send(url.replace('/mcp', '/metrics'), { method: 'GET', headers: ADA })).text);
  await metrics();
  const first = await rawSession(url, ADA);
  const refused = await post(url, INITIALIZE, ADA);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10']);
  expect(errorOf(refused)).toMatchObject({ data: { code: 'TOOL_ERR_LIMIT', quota: 'sessions', limit: 1 } });
  await rawSession(url, BEN);
  await send(url, { method: 'DELETE', headers: first.headers });
  await rawSession(url, ADA);
  expect(valueOf(await metrics(), 'meanwhile_quota_refusals_total', { quota: 'sessions' })).toBe(1);
});

test('A-N: open calls and tasks are limited, and a running call still becomes a task', async () => {
  const server = owned(await startV1Http());
  const quotas = { openCalls: 1, tasks: 1, overrides: [{ principals: ['ben'], openCalls: 5, tasks: 5 }] };
  const { ada, ben } = await twoHubs({ one: { url: server.url } }, 'modern', { quotas });
  const open = ada.call('execute_tool', slow({ timeout_ms: 1500 }));
  await expect.poll(() => server.state.calls.length).toBe(1);
  const second = await ada.call('execute_tool', slow());
  expect(errorIn(second)['details']).toMatchObject({ quota: 'openCalls', limit: 1, retryAfterMs: 1000 });
  const task = taskIdOf(await open);
  const third = await ada.call('execute_tool', slow());
  expect(errorIn(third)['details']).toMatchObject({ quota: 'tasks', limit: 1, retryAfterMs: 5000 });
  await Promise.all([1, 2].map(async () => taskIdOf(await ben.call('execute_tool', slow({ timeout_ms: 0 })))));
  await ada.call('cancel_task', { task_id: task });
  expect(await echo(ada, 'one', 'again')).toBe('again');
});

test('A-N: open questions and stored bytes are limited', async () => {
  const server = owned(await startV1Http());
  const { ada } = await twoHubs({ one: { url: server.url } }, 'v1', { quotas: { questions: 1, bytes: 20_000 } });
  const ask = { server: 'one', tool: 'ask', args: {}, timeout_ms: 5000 };
  const first = await ada.call('execute_tool', ask);
  expect(first.elicitations).toHaveLength(1);
  const second = await ada.call('execute_tool', ask);
  expect(JSON.stringify(second.raw)).toContain('quotas.questions = 1');
  const large = { server: 'one', tool: 'echo', args: { text: 'x'.repeat(30_000) } };
  expect(errorIn(await ada.call('execute_tool', large))['details']).toMatchObject({ quota: 'bytes', limit: 20_000 });
  expect(await echo(ada, 'one', 'small')).toBe('small');
});

test('A-N: a principal that calls continuously does not block another principal', async () => {
  const server = owned(await startV1Http());
  const quotas = { openCalls: 2, overrides: [{ principals: ['ben'], openCalls: 100 }] };
  const { ada, ben } = await twoHubs({ one: { url: server.url } }, 'modern', { quotas, limits: { requests: 40 } });
  const over = new AbortController();
  let refusals = 0;
  let served = 0;
  const flood = Array.from({ length: 6 }, async () => {
    while (!over.signal.aborted) {
      const { code } = await ada.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 20 } });
      if (code === 'TOOL_ERR_LIMIT') refusals += 1;
      else served += 1;
    }
  });
  await expect.poll(() => refusals).toBeGreaterThan(5);
  for (let call = 0; call < 6; call += 1) expect(await echo(ben, 'one', `call ${call}`)).toBe(`call ${call}`);
  over.abort();
  await Promise.all(flood);
  expect(served).toBeGreaterThan(0);
}, 60_000);
