/** What the hub says about mistakes: each names the fix. */
import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { v1Stdio } from '../../support/servers.ts';

test('H-12: the error for an unreachable server contains a fix', async () => {
  const { url } = await httpGateway({
    missing: { command: 'no-such-program' },
    away: { url: 'http://127.0.0.1:1/mcp' },
  });
  const hub = await hubOverHttp(url);
  const call = await hub.call('execute_tool', { server: 'missing', tool: 'x' });
  expect(call.code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  expect(call.text).toContain(
    "command 'no-such-program' was not found; check that the program is installed and on the PATH",
  );
  const list = await hub.call('list_tools', { server: 'away' });
  expect(list.text).toContain('connection refused (ECONNREFUSED); no program listens there: start the server');
  const all = await hub.call('list_tools');
  expect(all.body['unavailable']).toEqual(
    expect.arrayContaining([
      { server: 'missing', error: expect.stringContaining('not found; check that the program is installed') },
    ]),
  );
  const added = await hub.call('add_server', { name: 'new', url: 'http://127.0.0.1:1/mcp' });
  expect(added.text).toContain('(ECONNREFUSED); no program listens there');
});

test.each<[tool: string, args: Json, says: string]>([
  [
    'execute_tool',
    { server: 's', tool: 't', arguments: {} },
    "unknown argument 'arguments'; did you mean 'args'? known: ",
  ],
  ['get_task', { task: 'x', task_id: 'x' }, "unknown argument 'task'; did you mean 'task_id'? known: "],
  [
    'respond_to_elicitation',
    { request_id: 'x', action: 'yes' },
    `'action': expected "accept", "decline" or "cancel", got "yes"`,
  ],
  ['respond_to_elicitation', { request_id: 'x' }, "'action' is missing"],
])('H-12, X-4: the error for wrong arguments of %s %j suggests the right ones', async (tool, args, says) => {
  const { url } = await httpGateway({});
  const reply = await (await hubOverHttp(url)).call(tool, args);
  expect(reply.code).toBe('TOOL_ERR_INVALID_ARGUMENT');
  expect((reply.body['error'] as Json)['message']).toContain(says);
});

test('H-12: the error for an unknown tool suggests the closest name first', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const hub = await hubOverHttp(url);
  await expect(hub.call('exec_tool')).rejects.toThrow(
    "no tool 'exec_tool'; did you mean 'execute_tool'? known: add_server",
  );
  const { text } = await hub.call('execute_tool', { server: 'one', tool: 'ecko' });
  expect(text).toContain("server 'one' has no tool 'ecko'; did you mean 'echo'? known: ");
});
