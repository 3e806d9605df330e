import { expect, test } from 'vitest';
import type { TaskClient } from '../../../src/client/index.ts';
import { taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { sourceFiles } from '../../support/imports.ts';
import { behind, WAYS } from '../native/ways.ts';
import { clientOf, errorOf, unsigned } from './clients.ts';

interface Scenario {
  tool: string;
  args?: Json;
  /** Answers to what is asked, in this order. */
  answers?: Json[];
}

type Ended = { result: Json } | { error: Json };

/** In the order in which the gateway writes it, with the end that it takes for granted: the tool returns its text. */
const SAMPLED = {
  role: 'assistant',
  content: { type: 'text', text: 'something' },
  model: 'some-model',
  stopReason: 'endTurn',
};

const SCENARIOS: readonly Scenario[] = [
  { tool: 'echo', args: { text: 'hi' } },
  { tool: 'slow', args: { ms: 100, text: 'there' } },
  { tool: 'rich' },
  { tool: 'fail' },
  { tool: 'rpc_error' },
  { tool: 'ask', answers: [{ action: 'accept', content: { name: 'Ada' } }] },
  { tool: 'ask', answers: [{ action: 'decline' }] },
  {
    tool: 'ask_twice',
    answers: [
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'accept', content: { age: 36 } },
    ],
  },
  { tool: 'sample', args: { prompt: 'Say something' }, answers: [SAMPLED] },
];

async function throughClient(client: TaskClient, { tool, args = {}, answers = [] }: Scenario): Promise<Ended> {
  const left = [...answers];
  const over = new AbortController();
  const { signal } = over;
  const answer = ({ detail }: { detail: { respond: (answer: never) => void } }): void =>
    detail.respond(left.shift() as never);
  client.addEventListener('newPendingElicitation', answer, { signal });
  client.addEventListener('newPendingSample', answer, { signal });
  const stream = client.callToolStream(tool, args);
  try {
    return { result: withoutTaskIds(unsigned((await stream).result)) };
  } catch {
    const { code, data } = await errorOf(stream);
    return { error: { code, data } };
  } finally {
    over.abort();
  }
}

async function throughGateway(hub: HubClient, { tool, args = {}, answers = [] }: Scenario): Promise<Ended> {
  let reply = await hub.call('execute_tool', { server: 'one', tool, args });
  let taskId: string | undefined;
  for (const { stopReason: _stopReason, ...answer } of answers) {
    taskId ??= taskIdOf(reply);
    while (reply.elicitations.length + reply.samplings.length === 0) reply = await hub.call('await_activity');
    const [elicitation] = reply.elicitations;
    const [sampling] = reply.samplings;
    reply = elicitation
      ? await hub.call('respond_to_elicitation', { request_id: elicitation.requestId, ...answer })
      : await hub.call('respond_to_sampling', { request_id: sampling?.requestId, ...answer });
  }
  return ended(taskId === undefined ? reply : await hub.call('get_task_result', { task_id: taskId }));
}

/** What the gateway adds to its replies is not the server's. */
function ended({ raw, body }: Reply): Ended {
  const error = (body['error'] as { details?: { error?: Json } } | undefined)?.details?.error;
  if (error !== undefined) return { error: { code: error['code'], data: error['data'] } };
  const content = raw.content.filter(({ text }) => !/^\{"(events_since|pending_client)/.test(String(text)));
  return { result: withoutTaskIds(unsigned({ ...raw, content })) };
}

/** The server repeats the answer that it got, which names the task that asked: another one each time. */
function withoutTaskIds(result: Json): Json {
  return JSON.parse(JSON.stringify(result).replaceAll(/(taskId\\":\\")[0-9a-f]+/g, '$1…')) as Json;
}

test.each(WAYS)(
  'C-2: a call has the same outcome through the library and through the gateway ($how, $door)',
  async (way) => {
    const { hub, config } = await behind(way);
    const { client } = clientOf(config, { elicitation: true, sampling: true });
    for (const scenario of SCENARIOS) {
      const mine = await throughClient(client, scenario);
      expect(mine, scenario.tool).toEqual(await throughGateway(hub, scenario));
      const expected = scenario.tool === 'rpc_error' ? 'error' : 'result';
      expect(Object.keys(mine), scenario.tool).toEqual([expected]);
    }
  },
);

test('C-2: library, command line and gateway share the code in src/south', async () => {
  const files = (await sourceFiles('src')).filter(({ path }) => !path.endsWith('.test.ts'));
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reachable = (from: string, seen = new Set<string>()): Set<string> => {
    const file = byPath.get(from);
    if (file === undefined || seen.has(from)) return seen;
    seen.add(from);
    for (const target of file.imports) reachable(target, seen);
    return seen;
  };
  const south = (from: string): string[] => [...reachable(from)].filter((path) => path.startsWith('src/south/'));
  const gateway = south('src/main.ts').toSorted();
  expect(gateway).toContain('src/south/call/run.ts');
  // The gateway has one more: the factory of its connections.
  expect(south('src/client/index.ts').toSorted()).toEqual(gateway.filter((path) => path !== 'src/south/backends.ts'));
  expect(reachable('src/cli/commands/call.ts')).toContain('src/client/task-client.ts');

  // Only south talks to servers, through the seams in lib/sdk; the demo plays a client of the gateway.
  const speakers = files
    .filter(({ imports }) => imports.some((target) => /^@modelcontextprotocol\/(client|sdk)/.test(target)))
    .map(({ path }) => path)
    .filter((path) => !path.startsWith('src/south/') && !path.startsWith('src/lib/sdk/'));
  expect(speakers).toEqual(['src/demo/hub-client.ts']);
});
