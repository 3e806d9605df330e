import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { createTaskServer } from '../../../src/server/index.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { runCommand } from '../../support/command.ts';
import { configFile, httpGateway, stdioGateway } from '../../support/gateway.ts';
import { takeApart, taskIdOf, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { StdioTransport } from '../../support/stdio-transport.ts';
import { textOf } from '../direct/answered.ts';

const NOWHERE = { url: 'http://127.0.0.1:9/mcp' };

/** A server with a tool that promises structured results, and takes its time. */
async function slowServer(): Promise<string> {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
  const tools = {
    count: {
      inputSchema: { type: 'object' },
      outputSchema,
      run: async () => {
        await new Promise((resolve) => {
          setTimeout(resolve, 400);
        });
        return { content: [{ type: 'text' as const, text: '7' }], structuredContent: { n: 7 } };
      },
    },
  } as const;
  return owned(createTaskServer({ name: 'slow', version: '1', tools })).listen({ port: 0 });
}

test('M-5: a client on stdio without tasks and elicitation gets slow results and answers questions', async () => {
  const one = owned(await startV1Http());
  const servers = { one: { url: one.url }, slow: { url: await slowServer() } };
  const client = owned(new Client({ name: 'plain', version: '1' }));
  await client.connect(new StdioTransport(await stdioGateway(servers, { calls: { timeoutMs: 100 } }, 'all')));
  expect(client.getInstructions()).toContain('await_activity');
  // The SDK knows from the list which results to check.
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['one__echo', 'slow__count', 'get_task_result', 'respond_to_elicitation']),
  );
  const call = async (name: string, args: Json = {}): Promise<Json> => {
    const result: Json = await client.callTool({ name, arguments: args }, CallToolResultSchema);
    return result;
  };
  expect(textOf(await call('one__echo', { text: 'fast' }))).toBe('fast');
  const task_id = taskIdOf(takeApart(await call('slow__count')));
  expect(await call('get_task_result', { task_id })).toMatchObject({ structuredContent: { n: 7 } });
  const asking = takeApart(await call('one__ask'));
  const [{ requestId, server } = { requestId: '', server: '' }] = asking.elicitations;
  expect(server).toBe('one');
  await call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Ada' } });
  expect(textOf(await call('get_task_result', { task_id: taskIdOf(asking) }))).toBe('Hello Ada');
});

test('M-1: a group without prefixes works on stdio with the original tool names', async () => {
  const one = owned(await startV1Http());
  const groups = { few: { servers: ['one'], include: ['one__e*'], prefix: false } };
  const client = owned(new Client({ name: 'plain', version: '1' }, { capabilities: { elicitation: {} } }));
  await client.connect(
    new StdioTransport(await stdioGateway({ one: { url: one.url }, two: NOWHERE }, { groups }, 'few')),
  );
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['echo', 'env']);
  expect(textOf((await client.callTool({ name: 'echo', arguments: { text: 'hi' } })) as Json)).toBe('hi');
  await expect(client.callTool({ name: 'pid', arguments: {} })).rejects.toThrow("Unknown tool: 'pid'");
});

const GROUPS = { groups: { few: {} } };
test.each([
  [['--all', '--group', 'few'], '--all and --group exclude each other'],
  [['--all', '--server', 'one'], '--server and --all exclude each other'],
  [['--group', 'many'], "no group 'many'; known: all, few"],
  [['--group', 'one'], "no group 'one'; known: all, few"],
  [['--server', 'few'], "no server 'few'; known: one"],
])('M-1, H-12: meanwhile stdio %j is wrong usage', async (args, message) => {
  const config = await configFile({ one: NOWHERE }, GROUPS);
  const { code, stdout, stderr } = await runCommand(['stdio', '--config', config, ...args]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
});

test('M-1, X-4: two servers with the same tool name in a group without prefixes stop the start', async () => {
  const [one, two] = [owned(await startV1Http()), owned(await startV1Http())];
  const servers = { one: { url: one.url }, two: { url: two.url }, away: NOWHERE };
  const groups = { plain: { prefix: false } };
  const config = await configFile(servers, { groups });
  for (const command of [['serve'], ['stdio', '--group', 'plain']]) {
    const { code, stderr } = await runCommand([...command, '--config', config]);
    expect(code, command[0]).not.toBe(0);
    expect(stderr).toMatch(/group 'plain': the servers 'one' and 'two' both have a tool '[a-z_]+'/);
    expect(stderr).toContain('"prefix": false');
  }
  // The others do not depend on it.
  await expect(
    httpGateway(servers, { groups: { plain: { ...groups.plain, servers: ['one', 'away'] } } }),
  ).resolves.toBeDefined();
});
