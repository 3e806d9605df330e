import { expect, test } from 'vitest';
import { ONE } from '../../../tests/support/core.ts';
import { LOCAL_CLIENT, ScriptedBackends, SCRIPTED_INFO, UNHEARD } from '../../../tests/support/scripted-connection.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { Budget } from '../budget.ts';
import { Catalog } from './catalog.ts';

const TIMEOUT_MS = 1000;

/** The lists of a server that tells when they change, unless the capabilities say otherwise. */
function setUp({ tools = { listChanged: true }, bytes = Infinity }: { tools?: unknown; bytes?: number } = {}) {
  const clock = new TestClock();
  const backends = new ScriptedBackends();
  backends.info = { ...SCRIPTED_INFO, capabilities: { tools } };
  const connection = backends.connect('one', ONE, UNHEARD, LOCAL_CLIENT);
  const budget = new Budget(bytes, 'limits.sessionBytes');
  const catalog = new Catalog(connection, TIMEOUT_MS, budget, clock);
  const reads = (): number => connection.requests.filter(({ params }) => params['cursor'] === undefined).length;
  return { backends, connection, catalog, clock, budget, reads };
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

test('H-8: a list is read with all its pages, without entries whose names are missing or too long', async () => {
  const { backends, catalog } = setUp();
  backends.methods['tools/list'] = ({ cursor }) =>
    cursor === undefined
      ? { tools: [tool('a'), { description: 'nameless' }, tool('x'.repeat(300))], nextCursor: '2' }
      : { tools: [tool('b')] };
  expect(await catalog.list('tools')).toEqual([tool('a'), tool('b')]);
});

test('H-8: a list that the server does not offer is empty and is not requested', async () => {
  const { catalog, connection } = setUp();
  expect(await catalog.list('prompts')).toEqual([]);
  expect(connection.requests).toEqual([]);
});

test('B-3: a list is cached until list_changed if the server declares listChanged', async () => {
  const { catalog, reads, clock } = setUp();
  await Promise.all([catalog.list('tools'), catalog.list('tools')]);
  await catalog.list('tools');
  expect(reads()).toBe(1);
  catalog.onNotification('notifications/prompts/list_changed');
  await catalog.list('tools');
  expect(reads()).toBe(1);
  catalog.onNotification('notifications/tools/list_changed');
  await catalog.list('tools');
  expect(reads()).toBe(2);
  expect(clock.armed).toBe(0);
});

test('B-3: without listChanged each read requests the list', async () => {
  const { catalog, reads } = setUp({ tools: {} });
  await catalog.list('tools');
  await catalog.list('tools');
  expect(reads()).toBe(2);
});

test('X-3: a list is cached only if there is memory for it, and clearing the cache frees the memory', async () => {
  const { catalog, reads, budget, backends } = setUp({ bytes: 100 });
  backends.methods['tools/list'] = () => ({ tools: [tool('x'.repeat(200))] });
  await catalog.list('tools');
  await turn();
  await catalog.list('tools');
  expect(reads()).toBe(2);
  expect(budget.used).toBe(0);
  backends.methods['tools/list'] = () => ({ tools: [tool('a')] });
  await catalog.list('tools');
  await turn();
  expect(budget.used).toBeGreaterThan(0);
  catalog.clear();
  expect(budget.used).toBe(0);
});

test('X-3, H-12: a server that does not answer in time is an error, which is not cached', async () => {
  const { catalog, clock, backends, reads } = setUp();
  backends.methods['tools/list'] = () => new Promise(() => {});
  const reading = catalog.list('tools');
  await turn();
  clock.advance(TIMEOUT_MS);
  await expect(reading).rejects.toMatchObject({
    code: 'TOOL_ERR_TIMEOUT',
    message: expect.stringContaining('1000 ms'),
  });
  backends.methods['tools/list'] = () => ({ tools: [tool('a')] });
  expect(await catalog.list('tools')).toEqual([tool('a')]);
  expect(reads()).toBe(2);
});

test('B-3: a refresh reports which lists could be read', async () => {
  const { catalog, backends } = setUp();
  backends.info = { ...SCRIPTED_INFO, capabilities: { tools: {}, prompts: {} } };
  expect(await catalog.refresh()).toEqual({ tools: true, resources: true, templates: true, prompts: false });
});
