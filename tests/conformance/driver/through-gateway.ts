import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createLog } from '../../../src/lib/log.ts';
import { startHttp } from '../../../src/main.ts';
import { signInWith } from '../../auth/sign-in/browser.ts';
import { configFor, SERVER } from './config.ts';
import { untouchedForm } from './form.ts';
import type { BeforeAnswer, Json, Tool, Way } from './way.ts';

/** A server that refuses after each sign-in has to be given up. */
const MAX_SIGN_INS = 5;

interface Waiting {
  elicitations: { requestId: string; requestedSchema?: Json; url?: string }[];
  sampling_requests: { requestId: string }[];
}

/** A gateway with the suite's server behind it, and in front of it a client that can call tools and nothing else. */
export async function throughGateway(url: string, beforeAnswer: BeforeAnswer, auth?: Json): Promise<Way> {
  const gateway = await startHttp(await configFor(url, auth), createLog('silent'));
  const client = new Client({ name: 'plain', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));

  /** Only calls wait for a sign-in: other requests are made again after it. */
  const call = async (name: string, args: Json, signIns = 0): Promise<Json> => {
    const result = await client.callTool({ name, arguments: args });
    const [link] = /http:\S+\/oauth\/start\/[\w-]+/.exec(result.isError ? JSON.stringify(result.content) : '') ?? [];
    if (link !== undefined && signIns < MAX_SIGN_INS) {
      await signInWith(link);
      return call(name, args, signIns + 1);
    }
    if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    return result;
  };
  const list = async (name: string, key: string): Promise<Json[]> =>
    (said(await call(name, { server: SERVER }), key) ?? []) as Json[];

  const answer = async ({ elicitations, sampling_requests }: Waiting): Promise<void> => {
    await beforeAnswer();
    for (const { requestId, requestedSchema, url: link } of elicitations) {
      if (link !== undefined) {
        await signInWith(link);
        continue;
      }
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

/** What the gateway says under this key in one of the blocks of its reply. */
function said(reply: Json, key: string): unknown {
  for (const { text } of reply['content'] as { text?: string }[]) {
    if (text?.startsWith(`{"${key}"`)) return (JSON.parse(text) as Json)[key];
  }
  return undefined;
}
