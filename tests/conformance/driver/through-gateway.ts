import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createLog } from '../../../src/lib/log.ts';
import { loadConfig, startHttp, type Config } from '../../../src/main.ts';
import { untouchedForm } from './form.ts';
import type { BeforeAnswer, Json, Tool, Way } from './way.ts';

const SERVER = 'suite';

interface Waiting {
  elicitations: { requestId: string; requestedSchema?: Json }[];
  sampling_requests: { requestId: string }[];
}

/** A gateway with the suite's server behind it, and in front of it a client that can call tools and nothing else. */
export async function throughGateway(url: string, beforeAnswer: BeforeAnswer): Promise<Way> {
  const gateway = await startHttp(await configFor(url), createLog('silent'));
  const client = new Client({ name: 'plain', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));

  const call = async (name: string, args: Json): Promise<Json> => {
    const result = await client.callTool({ name, arguments: args });
    if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    return result;
  };
  const list = async (name: string, key: string): Promise<Json[]> =>
    (said(await call(name, { server: SERVER }), key) ?? []) as Json[];

  const answer = async ({ elicitations, sampling_requests }: Waiting): Promise<void> => {
    await beforeAnswer();
    for (const { requestId, requestedSchema } of elicitations) {
      const content = untouchedForm(requestedSchema);
      await call('respond_to_elicitation', { request_id: requestId, action: 'accept', content });
    }
    for (const { requestId } of sampling_requests) {
      await call('respond_to_sampling', { request_id: requestId, content: 'Hello.' });
    }
  };

  return {
    listTools: async () => (await list('list_tools', 'tools')) as unknown as Tool[],
    callTool: async (tool, args = {}) => {
      let reply = await call('execute_tool', { server: SERVER, tool, args });
      const task = said(reply, 'proxy_task') as { task_id: string } | undefined;
      if (task === undefined) return reply;
      do {
        const waiting = said(reply, 'pending_client_action') as Waiting | undefined;
        if (waiting !== undefined) await answer(waiting);
        reply = await call('get_task_result', { task_id: task.task_id });
      } while (said(reply, 'task') !== undefined);
      return reply;
    },
    listResources: async () => list('list_resources', 'resources'),
    readResource: async (uri) => void (await call('read_resource', { server: SERVER, uri })),
    listPrompts: async () => list('list_prompts', 'prompts'),
    getPrompt: async (name) => void (await call('get_prompt', { server: SERVER, name })),
    close: async () => {
      await client.close();
      await gateway.close();
    },
  };
}

/** Nothing of the machine's own configuration gets in. */
async function configFor(url: string): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-conformance-'));
  try {
    const file = join(folder, 'meanwhile.json');
    const meanwhile = { port: 0, store: ':memory:' };
    await writeFile(file, JSON.stringify({ mcpServers: { [SERVER]: { url } }, meanwhile }));
    return await loadConfig({ flags: { config: file }, env: {}, cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What the gateway says under this key in one of the blocks of its reply. */
function said(reply: Json, key: string): unknown {
  for (const { text } of reply['content'] as { text?: string }[]) {
    if (text?.startsWith(`{"${key}"`)) return (JSON.parse(text) as Json)[key];
  }
  return undefined;
}
