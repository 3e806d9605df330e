import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, type Servers } from '../../support/gateway.ts';
import { takeApart, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { logLines, startProgram, type Program } from '../../support/program.ts';
import { INITIALIZE, modernCall, toolCall } from '../../support/raw-http.ts';

interface Wire {
  program: Program;
  write: (line: string) => void;
  /** All answers to a request id so far, at least `count` of them. */
  answers: (id: unknown, count?: number) => Promise<Json[]>;
}

async function wire(servers: Servers = {}, ...flags: string[]): Promise<Wire> {
  const config = await configFile(servers, { logLevel: 'debug' });
  const program = await startProgram(['stdio', '--config', config, ...flags]);
  const messages = (): Json[] => program.stdout.map((line) => JSON.parse(line) as Json);
  return {
    program,
    write: (line) => void program.child.stdin.write(`${line}\n`),
    answers: (id, count = 1) =>
      vi.waitFor(
        () => {
          const found = messages().filter((message) => message['id'] === id);
          expect(found.length, program.stderr.join('\n')).toBeGreaterThanOrEqual(count);
          return found;
        },
        { timeout: 10_000 },
      ),
  };
}

async function initialized(servers: Servers = {}): Promise<Wire> {
  const opened = await wire(servers);
  opened.write(JSON.stringify(INITIALIZE));
  opened.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  await opened.answers(INITIALIZE.id);
  return opened;
}

const GARBAGE = [
  '',
  ' ',
  '{',
  'hello',
  '{"jsonrpc":"2.0","id":1,"method":',
  'null',
  '7',
  '[]',
  '[1]',
  '{}',
  '{"id":1,"method":"ping"}',
  '{"jsonrpc":"1.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  '{"jsonrpc":"2.0","id":null,"method":"ping"}',
  '{"jsonrpc":"2.0","id":1,"method":7}',
  '{"jsonrpc":"2.0","id":1,"method":"ping","params":7}',
  '{"jsonrpc":"2.0","id":77,"result":{}}',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
  '{"__proto__":{"polluted":1}}',
  '\u0000\u0001',
  '\ufeff',
  '['.repeat(100_000),
  'x'.repeat(1_000_000),
];

test('X-4: after an invalid line on stdin the next request is answered', async () => {
  const { program, write, answers } = await initialized();
  for (const [index, line] of GARBAGE.entries()) {
    write(line);
    const id = `after ${index}`;
    write(JSON.stringify(toolCall('list_servers', {}, id)));
    const [answer] = await answers(id);
    expect(takeApart(answer?.['result'] as Json).body).toEqual({ servers: [] });
  }
  expect(program.child.exitCode).toBeNull();
  expect(logLines(program).filter(({ level }) => level === 'error')).toEqual([]);
  program.child.stdin.end();
  expect(await program.exited).toBe(0);
});

const MALFORMED: Json[] = [
  { id: 1, method: 'ping' },
  { jsonrpc: '1.0', id: 'two', method: 'ping' },
  { jsonrpc: '2.0', id: 3, method: 7 },
  { jsonrpc: '2.0', id: 4, method: 'ping', params: 7 },
  { jsonrpc: '2.0', id: 5, method: 'ping', params: { _meta: 5 } },
  { jsonrpc: '2.0', id: 6, method: 'ping', extra: true },
  { jsonrpc: '2.0', id: 7 },
  { jsonrpc: '2.0', id: 8.5, method: 'ping' },
];

const FIRST = { legacy: INITIALIZE, modern: modernCall('list_servers', {}, 0) };

test.each([
  ['hub', 'legacy'],
  ['hub', 'modern'],
  ['direct', 'legacy'],
  ['direct', 'modern'],
] as const)('X-4: a malformed request with an id gets an error (%s, %s)', async (endpoint, era) => {
  const server = owned(await startV1Http());
  const { write, answers, program } = await wire(
    { one: { url: server.url } },
    ...(endpoint === 'direct' ? ['--server', 'one'] : []),
  );
  // Also before the first good message, which decides the era.
  write(JSON.stringify({ id: 'early', method: 'ping' }));
  expect(await answers('early')).toMatchObject([{ jsonrpc: '2.0', error: { code: -32600 } }]);
  write(JSON.stringify(FIRST[era]));
  await answers(0);
  for (const message of MALFORMED) {
    write(JSON.stringify(message));
    const [answer] = await answers(message['id']);
    expect(answer, JSON.stringify(message)).toMatchObject({
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.stringContaining('Invalid Request') },
    });
  }
  const unanswered = program.stdout.length;
  // Neither a response nor a notification is answered, whatever is wrong with it.
  write('{"jsonrpc":"2.0","id":9,"result":7}');
  write('{"jsonrpc":"2.0","id":9,"error":{}}');
  write('{"jsonrpc":"2.0","method":7}');
  write(JSON.stringify({ id: 'last', method: 'ping' }));
  await answers('last');
  expect(program.stdout).toHaveLength(unanswered + 1);
});

test('X-4: each request of a batch gets an error over stdio, where batches are not supported', async () => {
  const { write, answers } = await initialized();
  write(JSON.stringify([toolCall('list_servers', {}, 'a'), toolCall('list_servers', {}, 'b')]));
  for (const id of ['a', 'b']) {
    expect(await answers(id)).toMatchObject([{ error: { code: -32600, message: expect.stringContaining('batch') } }]);
  }
});

test('X-4: invalid lines before the first message do not decide the era', async () => {
  for (const good of [INITIALIZE, modernCall('list_servers', {}, 0)]) {
    const { write, answers } = await wire();
    write('hello?');
    write('{"jsonrpc":"2.0"}');
    write(JSON.stringify(good));
    const [answer] = await answers(0);
    expect(answer).toHaveProperty('result');
  }
});

test('X-4: each invalid call gets its own error', async () => {
  const { write, answers } = await initialized();
  const errors: [Json, number][] = [
    [{ jsonrpc: '2.0', id: 1, method: 'nope' }, -32601],
    [{ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'nope' } }, -32602],
    [{ jsonrpc: '2.0', id: 3, method: 'tools/call' }, -32602],
    [{ jsonrpc: '2.0', id: 4, method: 'resources/read', params: { uri: 7 } }, -32602],
  ];
  for (const [message, code] of errors) {
    write(JSON.stringify(message));
    const [answer] = await answers(message['id']);
    expect(answer?.['error'], JSON.stringify(message)).toMatchObject({ code });
  }
  write(JSON.stringify(toolCall('execute_tool', { server: '__proto__', tool: 'x' }, 5)));
  const [reply] = await answers(5);
  expect(takeApart(reply?.['result'] as Json).code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
});

test('X-4, E-1: a request id in use is refused, and no event is lost', async () => {
  const server = owned(await startV1Http());
  const { write, answers } = await initialized({ one: { url: server.url } });
  write(JSON.stringify(toolCall('list_tools', {}, 'first')));
  await answers('first');
  const slow = { server: 'one', tool: 'slow', args: { ms: 500, text: 'late' } };
  write(JSON.stringify(toolCall('execute_tool', slow, 'same')));
  write(JSON.stringify(toolCall('execute_tool', { server: 'one', tool: 'notify', args: { count: 1 } }, 'same')));
  const both = await answers('same', 2);
  const refused = both.find((answer) => 'error' in answer);
  expect(JSON.stringify(refused)).toContain('already in use');
  const result = both.find((answer) => 'result' in answer);
  expect(takeApart(result?.['result'] as Json).text).toBe('late');
  expect(server.state.calls.map(({ tool }) => tool)).toEqual(['slow']);
  write(JSON.stringify(toolCall('execute_tool', { server: 'one', tool: 'notify', args: { count: 1 } }, 'same')));
  const third = (await answers('same', 3)).at(-1);
  expect(takeApart(third?.['result'] as Json).events).toHaveLength(1);
});
