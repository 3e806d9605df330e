import { expect, test } from 'vitest';
import { TaskClient } from '../../../src/client/task-client.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { runProgram } from '../../support/program.ts';
import { oddServer, textResult, type Handler, type OddServer } from './odd-server.ts';

/** After each of them nothing more can come. */
const ENDS: { how: string; answer: Handler; says: string }[] = [
  {
    how: 'with 202 and nothing else',
    answer: ({ response }) => void response.writeHead(202).end(),
    says: 'will not answer it',
  },
  {
    how: 'with the response to another request',
    answer: ({ response }) => {
      const other = { jsonrpc: '2.0', id: 'another', result: textResult('for somebody else') };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(other));
    },
    says: 'no reply to the request',
  },
];

const tool = { name: 'work', inputSchema: { type: 'object' } };

async function serverThat(answer: Handler): Promise<OddServer> {
  return oddServer({ 'tools/list': ({ reply }) => reply({ tools: [tool] }), 'tools/call': answer });
}

test.each(ENDS)('X-3, X-4: a call that a server answers $how ends at once at the hub', async ({ answer, says }) => {
  const [odd, fine] = [await serverThat(answer), owned(await startV1Http())];
  const { url } = await httpGateway({ odd: { url: odd.url }, fine: { url: fine.url } });
  const hub = await hubOverHttp(url);
  const reply = await hub.call('execute_tool', { server: 'odd', tool: 'work', timeout_ms: 8000 });
  expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(reply.text).toContain(says);
  expect((await hub.call('list_tasks')).body['tasks']).toEqual([]);
  const other = await hub.call('execute_tool', { server: 'fine', tool: 'echo', args: { text: 'not harmed' } });
  expect(other.text).toBe('not harmed');
});

test.each(ENDS)(
  'C-1, X-4: a call of the client library that a server answers $how ends at once',
  async ({ answer, says }) => {
    const { url, seen } = await serverThat(answer);
    const client = new TaskClient({ url });
    defer(async () => client.disconnect());
    await expect(client.callTool('work')).rejects.toThrow(says);
    // The connection is still the same, and in use.
    await client.ping();
    expect(Object.fromEntries(seen)).toMatchObject({ 'tools/call': 1, ping: 1, initialize: 1 });
  },
);

test.each(ENDS)(
  'C-3, X-4: a call of the command line that a server answers $how ends at once',
  async ({ answer, says }) => {
    const { url } = await serverThat(answer);
    const { code, stderr } = await runProgram(['call', url, 'work', '--timeout', '10s']);
    expect(stderr).toContain(says);
    expect(code).toBe(1);
  },
);
