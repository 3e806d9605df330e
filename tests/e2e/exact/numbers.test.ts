import { expect, test } from 'vitest';
import { TaskClient } from '../../../src/client/index.ts';
import { createTaskServer } from '../../../src/server/index.ts';
import { temporaryFolder, httpGateway } from '../../support/gateway.ts';
import { defer, owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { rawSession, send } from '../../support/raw-http.ts';
import { exactClient, exactServer, overHttp, request, type Era, type Wire } from './setup.ts';

const BIG = '9007199254740993';

const WIRES: Wire[] = ['stdio', 'http'];
const ERAS: Era[] = ['legacy', 'modern'];
const ends = WIRES.flatMap((wire) => ERAS.map((era) => [wire, era] as const));
const pairs = ends.flatMap((client) => ends.map((server) => [...client, ...server] as const));

function expectExactProgress(text: string): void {
  const progress = /"method":"notifications\/progress".*/.exec(text)?.[0];
  expect(progress).toContain(`"progressToken":${BIG}`);
  expect(progress).toContain(`"progress":${BIG},"total":90071992547409930`);
}

test.each(pairs)(
  'M-7: large integers are exact through the hub, %s %s client, %s %s server',
  async (wire, era, serverWire, serverEra) => {
    const call = await exactClient(wire, era, 'hub', await exactServer(serverWire, serverEra));
    const args = `{"n":${BIG},"text":"${BIG}"}`;
    const text = await call(
      'execute_tool',
      `{"server":"exact","tool":"echo","args":${args}}`,
      `"progressToken":${BIG}`,
    );
    expect(text).toContain(`arguments {\\"n\\":${BIG},\\"text\\":\\"${BIG}\\"}`);
    expect(text).toContain(`"structuredContent":{"n":${BIG},"list":[-${BIG},1]}`);
    expect(text).toContain(`"test/n":${BIG}`);
    expectExactProgress(text);
  },
);

test.each(pairs)(
  'M-7: large integers are exact at a direct endpoint, %s %s client, %s %s server',
  async (wire, era, serverWire, serverEra) => {
    const call = await exactClient(wire, era, 'direct', await exactServer(serverWire, serverEra));
    const text = await call('echo', `{"n":${BIG}}`, `"test/n":${BIG},"progressToken":${BIG}`);
    expect(text).toContain(`arguments {\\"n\\":${BIG}}, test/n ${BIG}`);
    expect(text).toContain(`"structuredContent":{"n":${BIG},"list":[-${BIG},1]}`);
    expect(text).toContain(`"test/n":${BIG}`);
    expectExactProgress(text);
  },
);

test.each(ERAS)('M-7: large integers are exact at /mcp/all, %s client', async (era) => {
  const servers = { legacy: await exactServer('stdio', 'legacy'), modern: await exactServer('stdio', 'modern') };
  const call = await overHttp(`${(await httpGateway(servers)).url}/all`, era);
  for (const server of ERAS) {
    const text = await call(`${server}__echo`, `{"n":${BIG}}`, `"test/n":${BIG},"progressToken":${BIG}`);
    expect(text).toContain(`arguments {\\"n\\":${BIG}}, test/n ${BIG}`);
    expect(text).toContain(`"structuredContent":{"n":${BIG},"list":[-${BIG},1]}`);
    expectExactProgress(text);
  }
});

test.each(ERAS)('M-7: large integers are exact in a question of a %s server and in its answer', async (era) => {
  const call = await exactClient('http', 'legacy', 'hub', await exactServer('http', era));
  const promoted = await call('execute_tool', '{"server":"exact","tool":"ask","args":{}}');
  expect(promoted).toContain(`\\"default\\":${BIG}`);
  const [, question] = /\\"request_?[iI]d\\":\\"([^"\\]+)\\"/.exec(promoted) ?? [];
  const [, task] = /\\"task_?[iI]d\\":\\"([^"\\]+)\\"/.exec(promoted) ?? [];
  const wrong = await call('respond_to_elicitation', answer(question, `"${BIG}"`));
  expect(wrong).toContain('expected a number');
  await call('respond_to_elicitation', answer(question, BIG));
  expect(await call('get_task_result', `{"task_id":"${task}"}`)).toContain(`{\\"n\\":${BIG}}`);
});

const answer = (question: string | undefined, n: string): string =>
  `{"request_id":"${question}","action":"accept","content":{"n":${n}}}`;

test('M-7: a large integer is exact as request id', async () => {
  const { url } = await httpGateway({ exact: await exactServer('stdio', 'legacy') });
  const { headers } = await rawSession(`${url}/exact`);
  for (const id of [BIG, `-${BIG}`]) {
    const { text } = await send(`${url}/exact`, { headers, body: request(id, 'legacy', 'echo', '{}') });
    expect(text).toContain(`"id":${id}`);
  }
});

test('M-7: a large integer is exact in a result that survives a restart', async () => {
  const servers = { exact: await exactServer('stdio', 'legacy') };
  const settings = { store: `${await temporaryFolder()}/store.db` };
  const before = await httpGateway(servers, settings);
  const session = await rawSession(before.url);
  const call = (url: string, tool: string, args: string): Promise<string> =>
    send(url, { headers: session.headers, body: request('1', 'legacy', tool, args) }).then(({ text }) => text);
  const promoted = await call(
    before.url,
    'execute_tool',
    `{"server":"exact","tool":"echo","args":{"n":${BIG}},"timeout_ms":0}`,
  );
  const [, task] = /\\"task_?[iI]d\\":\\"([^"\\]+)\\"/.exec(promoted) ?? [];
  await expect.poll(() => call(before.url, 'get_task', `{"task_id":"${task}"}`)).toContain('completed');
  await before.close();
  const after = await httpGateway(servers, settings);
  const text = await call(after.url, 'get_task_result', `{"task_id":"${task}","timeout_ms":10000}`);
  expect(text).toContain(`arguments {\\"n\\":${BIG}}`);
  expect(text).toContain(`"structuredContent":{"n":${BIG},"list":[-${BIG},1]}`);
});

test('M-7: large integers are exact on the command line', async () => {
  const server = await exactServer('http', 'modern');
  const url = 'url' in server ? server.url : '';
  const { stdout, stderr } = await runCommand(['call', url, 'echo', `n:=${BIG}`, '--json']);
  expect(stderr).toBe('');
  expect(stdout).toContain(`"n": ${BIG}`);
  expect(stdout).toContain(`arguments {\\"n\\":${BIG}}`);
});

test('M-7: the libraries round large integers to the nearest JavaScript number', async () => {
  const client = new TaskClient(await exactServer('stdio', 'legacy'));
  defer(() => client.disconnect());
  const { result } = await client.callTool('echo', { n: 1 });
  expect(result).toMatchObject({ structuredContent: { n: 9007199254740992, list: [-9007199254740992, 1] } });

  const given: unknown[] = [];
  const inputSchema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  const run = (args: Record<string, unknown>): string => {
    given.push(args['n']);
    return 'taken';
  };
  const server = owned(createTaskServer({ name: 'app', version: '1', tools: { take: { inputSchema, run } } }));
  const url = await server.listen({ port: 0 });
  const call = await overHttp(url, 'modern');
  expect(await call('take', `{"n":${BIG}}`)).toContain('taken');
  expect(given).toEqual([9007199254740992]);
});

test('X-4: a hub argument that is too large is refused with its limit', async () => {
  const { url } = await httpGateway({});
  const call = await overHttp(url, 'legacy');
  expect(await call('await_activity', `{"timeout_ms":${BIG}}`)).toContain('timeout_ms');
  expect(await call('get_task', `{"task_id":${BIG}}`)).toMatch(/task_id.*string/);
});
