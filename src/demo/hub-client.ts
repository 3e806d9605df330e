import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { VERSION } from '../lib/version.ts';

/** What the story reads from replies. */
export interface HubReply {
  task?: { status: string; status_message?: string };
  /** The first block, as the server or the gateway wrote it. */
  text: string;
  tools?: { name: string; description: string }[];
  proxy_task?: { task_id: string };
  triggers?: { type: string; eventType?: string }[];
  pending_server?: { working_tasks: { toolName: string }[] }[];
  pending_client_action?: {
    elicitations: { requestId: string; message: string; requestedSchema: { properties: Record<string, unknown> } }[];
    sampling_requests: { requestId: string; params: { messages: { content: { text: string } }[] } }[];
  };
}

/** A client that can only call tools, with its own gateway as a child process. */
export class HubClient {
  readonly #client = new Client({ name: 'meanwhile-demo', version: VERSION });

  /** Resolves when the gateway is ready. Its standard error is passed through. */
  async start(command: string, args: string[]): Promise<void> {
    await this.#client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  }

  async call(name: string, args: Record<string, unknown>): Promise<HubReply> {
    const { content, isError } = await this.#client.callTool({ name, arguments: args });
    const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    const [text = ''] = texts;
    if (isError) throw new Error(`${name} failed: ${text}`);
    return Object.assign({ text }, ...texts.filter((each) => each.startsWith('{')).map(asObject)) as HubReply;
  }

  /** Stops the gateway and its servers. */
  async close(): Promise<void> {
    await this.#client.close();
  }
}

function asObject(text: string): object {
  return JSON.parse(text) as object;
}
