/** A client that behaves like Claude Code 2.1.317, at the endpoint of all servers. */
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { accept, ModernWire, onlyQuestion, type Round } from '../direct/modern-wire.ts';

const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

const EXTENSION = 'io.modelcontextprotocol/tasks';

class ClaudeCode {
  readonly #wire: ModernWire;
  #uses = 0;
  /** The states of tasks that it has seen, each once. */
  readonly seen: unknown[] = [];
  /** The name that it answers questions with. */
  readonly #name = 'Ada';

  constructor(url: string) {
    // It declares the same with every request, of lists too.
    this.#wire = new ModernWire(url, { capabilities: CAPABILITIES, program: 'claude-code' });
  }

  static async open(url: string): Promise<{ client: ClaudeCode; tools: string[] }> {
    const client = new ClaudeCode(url);
    const { capabilities, supportedVersions } = await client.#wire.request('server/discover');
    expect(supportedVersions).toContain('2026-07-28');
    expect(capabilities).toMatchObject({ tools: { listChanged: true }, extensions: { [EXTENSION]: {} } });
    const { tools } = await client.#wire.request('tools/list');
    return { client, tools: (tools as Json[]).map(({ name }) => String(name)) };
  }

  /** Calls a tool, and follows it as a task or through its rounds. Returns the text of its result. */
  async use(tool: string, args: Json): Promise<{ text: unknown; toolUseId: string }> {
    this.#uses += 1;
    const toolUseId = `toolu_${this.#uses}`;
    const _meta = { 'claudecode/toolUseId': toolUseId, progressToken: this.#uses };
    let answered = await this.#wire.call(tool, args, { _meta });
    while (answered['resultType'] === 'input_required') {
      const { requestState } = answered as Round;
      answered = await this.#wire.call(tool, args, { _meta, requestState, inputResponses: this.#answers(answered) });
    }
    if (answered['resultType'] === 'task') answered = await this.#follow(answered);
    return { text: (answered['content'] as Json[])[0]?.['text'], toolUseId };
  }

  async #follow({ taskId, pollIntervalMs }: Json): Promise<Json> {
    expect(pollIntervalMs).toBeGreaterThan(0);
    for (;;) {
      await new Promise((resolve) => {
        setTimeout(resolve, Number(pollIntervalMs));
      });
      // It does not read the status message.
      const { statusMessage: _statusMessage, ...task } = await this.#wire.request('tasks/get', { taskId });
      if (this.seen.at(-1) !== task['status']) this.seen.push(task['status']);
      if (task['status'] === 'completed') return task['result'] as Json;
      if (task['status'] === 'input_required') {
        await this.#wire.request('tasks/update', { taskId, inputResponses: this.#answers(task) });
      } else expect(task['status']).toBe('working');
    }
  }

  #answers(asking: Json): Json {
    return { [onlyQuestion(asking as Round).key]: accept({ name: this.#name }) };
  }
}

test('M-8: a client like Claude Code gets slow results and answers questions, of servers of both eras', async () => {
  const legacy = owned(await startV1Http());
  const modern = owned(await startV2Http({ era: 'modern' }));
  const keeping = owned(await startTasksV2Http());
  const servers = { legacy: { url: legacy.url }, modern: { url: modern.url }, keeping: { url: keeping.url } };
  const { url } = await httpGateway(servers, { direct: { taskAfterMs: 100 } });
  const { client, tools } = await ClaudeCode.open(`${url}/all`);
  expect(tools).toEqual(expect.arrayContaining(['legacy__slow', 'modern__slow', 'keeping__slow', 'keeping__ask']));
  expect(tools).not.toContain('get_task_result');

  expect(await client.use('legacy__echo', { text: 'fast' })).toMatchObject({ text: 'fast' });
  expect(client.seen).toEqual([]);
  for (const server of Object.keys(servers)) {
    expect((await client.use(`${server}__slow`, { ms: 300, text: `of ${server}` })).text).toBe(`of ${server}`);
    expect(client.seen.splice(0).at(-1)).toBe('completed');
  }
  // A question before the call is a task, and one in the course of the task.
  expect((await client.use('legacy__ask', {})).text).toBe('Hello Ada');
  expect((await client.use('modern__ask', {})).text).toBe('Hello Ada');
  client.seen.splice(0);
  expect((await client.use('legacy__ask', { ms: 300 })).text).toBe('Hello Ada');
  expect(client.seen.splice(0)).toContain('input_required');
  const { text, toolUseId } = await client.use('keeping__ask', {});
  expect(text).toBe('Hello Ada');
  expect(client.seen).toEqual(expect.arrayContaining(['input_required', 'completed']));
  const metas = requestsOf(keeping.state, 'tools/call').map(({ params }) => params?.['_meta'] as Json);
  expect(metas.map((meta) => meta['claudecode/toolUseId'])).toContain(toolUseId);
});
