import { expect, test } from 'vitest';
import { ONE } from '../../../tests/support/core.ts';
import { LOCAL_CLIENT, ScriptedBackends, SCRIPTED_INFO, UNHEARD } from '../../../tests/support/scripted-connection.ts';
import { ReadLists } from './read-lists.ts';

const { signal } = new AbortController();

/** A server that has these tools now, on pages of that size. */
function server(names: string[], pageSize = 10) {
  const backends = new ScriptedBackends();
  backends.info = { ...SCRIPTED_INFO, capabilities: { tools: {} } };
  backends.methods['tools/list'] = ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const more = from + pageSize < names.length;
    return {
      tools: names.slice(from, from + pageSize).map((name) => ({ name })),
      ...(more && { nextCursor: String(from + pageSize) }),
    };
  };
  return backends.connect('one', ONE, UNHEARD, LOCAL_CLIENT);
}

const page = (names: string[], nextCursor?: string) => ({ tools: names.map((name) => ({ name })), nextCursor });

test('D-5: an unchanged list is not reported, even if its pages differ', async () => {
  const lists = new ReadLists();
  expect(lists.isEmpty).toBe(true);
  lists.record('tools/list', {}, page(['a', 'b'], '2'));
  lists.record('tools/list', { cursor: '2' }, page(['c']));
  expect(lists.isEmpty).toBe(false);
  expect(await lists.changedAt(server(['a', 'b', 'c'], 1), signal)).toEqual(new Set());
});

test.each([
  ['another entry', ['a', 'x', 'c']],
  ['one entry more', ['a', 'b', 'c', 'd']],
  ['one entry less', ['a', 'b']],
  ['another order', ['b', 'a', 'c']],
])('D-5: a changed list is reported: %s', async (_what, names) => {
  const lists = new ReadLists();
  lists.record('tools/list', {}, page(['a', 'b', 'c']));
  expect(await lists.changedAt(server(names), signal)).toEqual(new Set(['tools']));
});

test('D-5: if a list was read only in part, only that part is compared', async () => {
  const lists = new ReadLists();
  lists.record('tools/list', {}, page(['a', 'b'], '2'));
  expect(await lists.changedAt(server(['a', 'b', 'new']), signal)).toEqual(new Set());
  expect(await lists.changedAt(server(['a', 'new']), signal)).toEqual(new Set(['tools']));
});

test('D-5: a page that does not follow the last page and a result that is not a list are ignored', async () => {
  const lists = new ReadLists();
  lists.record('tools/list', { cursor: '7' }, page(['z']));
  lists.record('tools/call', {}, { content: [] });
  lists.record('tools/list', {}, { tools: 'none' });
  expect(lists.isEmpty).toBe(true);
});

test('D-5: reading a list from its beginning replaces the earlier entries', async () => {
  const lists = new ReadLists();
  lists.record('tools/list', {}, page(['old']));
  lists.record('tools/list', {}, page(['new']));
  expect(await lists.changedAt(server(['new']), signal)).toEqual(new Set());
});

test('D-5: a list that the server no longer offers counts as empty', async () => {
  const lists = new ReadLists();
  lists.record('prompts/list', {}, { prompts: [{ name: 'p' }] });
  lists.record('resources/list', {}, { resources: [] });
  expect(await lists.changedAt(server([]), signal)).toEqual(new Set(['prompts']));
});
