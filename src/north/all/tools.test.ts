import { describe, expect, test } from 'vitest';
import { ERAS, clientAt, toolsOf } from '../../../tests/support/group-clients.ts';
import { PlayedServer, scriptedGroup, tool, TRAITS } from '../../../tests/support/scripted-group.ts';
import { textOf } from '../../../tests/e2e/direct/answered.ts';

const LONG = 'a-tool-whose-name-is-as-long-as-clients-let-it-be-and-longer';

/** A server whose tools answer with the server's name and their own. */
function answering(name: string, ...tools: string[]): PlayedServer {
  const played = new PlayedServer({ tools: tools.map((each) => tool(each)) });
  for (const each of tools) played.tools[each] = (call) => call.answer(`${name}: ${call.outgoing.tool}`);
  return played;
}

describe.each(ERAS)('M-2: a %s client', (era) => {
  test('lists the tools of all servers with prefixed names, and calls them', async () => {
    const { all } = await scriptedGroup({ one: answering('one', 'add', 'sub'), two: answering('two', 'add') });
    const client = await clientAt(era, all);
    expect(await toolsOf(client)).toEqual(['one__add', 'one__sub', 'two__add']);
    expect(textOf(await client.call('one__add'))).toBe('one: add');
    expect(textOf(await client.call('two__add'))).toBe('two: add');
  });

  test('calls a tool by a shortened name without listing tools first', async () => {
    const servers = { one: answering('one', LONG), 'my server.io': answering('odd', 'say "hi"', 'say hi') };
    const first = await scriptedGroup(servers);
    const names = (await toolsOf(await clientAt(era, first.all))) as string[];
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,48}$/);
    await first.close();

    const second = await scriptedGroup(servers);
    const client = await clientAt(era, second.all);
    const answers = await Promise.all(names.map(async (name) => textOf(await client.call(name))));
    expect(answers).toEqual([`one: ${LONG}`, 'odd: say "hi"', 'odd: say hi']);
  });

  test('gets names of at most all.maxNameLength characters', async () => {
    const settings = { all: { maxNameLength: 24 } };
    const { all } = await scriptedGroup({ one: answering('one', 'a'.repeat(19), 'b'.repeat(20)) }, { settings });
    const client = await clientAt(era, all);
    const [exact, shortened] = (await toolsOf(client)) as [string, string];
    expect(exact).toBe(`one__${'a'.repeat(19)}`);
    expect(shortened).toMatch(/^one__b+_[0-9a-f]{10}$/);
    expect(shortened).toHaveLength(24);
    expect(textOf(await client.call(shortened))).toBe(`one: ${'b'.repeat(20)}`);
  });

  test('gets different names for servers and tools that could be confused', async () => {
    const servers = { a: answering('a', 'b__c', 'x'), a__b: answering('a__b', 'c'), a_: answering('a_', 'x', '_x') };
    const { all } = await scriptedGroup(servers);
    const client = await clientAt(era, all);
    const names = (await toolsOf(client)) as string[];
    expect(new Set(names).size).toBe(5);
    const answers = await Promise.all(names.map(async (name) => textOf(await client.call(name))));
    expect(answers).toEqual(['a: b__c', 'a: x', 'a__b: c', 'a_: x', 'a_: _x']);
  });

  test('M-1, X-4: sees a tool that its server lists twice once, and the log reports that once', async () => {
    const { all, logs } = await scriptedGroup({
      one: answering('one', 'add', 'add', 'sub'),
      two: answering('two', 'add'),
    });
    const clients = [await clientAt(era, all), await clientAt(era, all, { program: 'other' })];
    for (const client of clients) expect(await toolsOf(client)).toEqual(['one__add', 'one__sub', 'two__add']);
    const reported = logs.filter(({ event }) => event === 'listed_twice');
    expect(reported).toMatchObject([{ level: 'warn', data: { server: 'one', list: 'tools', name: 'add' } }]);
  });

  test('M-1, X-4: gets an error with a suggestion for an unknown name', async () => {
    const away = answering('three', 'lost');
    away.unreachable = 'it is away';
    const { all } = await scriptedGroup({ one: answering('one', 'add'), three: away });
    const client = await clientAt(era, all);
    const message = "Unknown tool: 'one_add'; did you mean 'one__add'?; not available now: three";
    expect(await client.error('tools/call', { name: 'one_add' })).toMatchObject({ code: -32602, message });
    expect(await client.error('tools/call', { name: 7 })).toMatchObject({ code: -32602 });
    expect(await client.error('prompts/get', { name: 'nothing' })).toMatchObject({ code: -32602 });
  });

  test('M-1: gets the error of the server for a tool that has disappeared since it was listed', async () => {
    const one = answering('one', 'add');
    const { all } = await scriptedGroup({ one, two: answering('two', 'add') });
    const client = await clientAt(era, all);
    expect(await toolsOf(client)).toHaveLength(2);
    one.tools['add'] = (call) => call.fail('Unknown tool: add', -32602);
    expect(await client.error('tools/call', { name: 'one__add' })).toMatchObject({
      code: -32602,
      message: 'Unknown tool: add',
    });
    expect(textOf(await client.call('two__add'))).toBe('two: add');
  });

  test('M-8: passes its `_meta` on to the server', async () => {
    const one = answering('one', 'add');
    if (era === 'modern') one.info = { ...one.info, traits: TRAITS.modern };
    const { all } = await scriptedGroup({ one });
    const client = await clientAt(era, all);
    await client.call('one__add', { a: 1 }, { _meta: { 'claudecode/toolUseId': 'toolu_1' } });
    const [made] = one.connections.flatMap(({ calls }) => calls);
    expect(made?.outgoing).toMatchObject({ tool: 'add', args: { a: 1 }, meta: { 'claudecode/toolUseId': 'toolu_1' } });
  });
});
