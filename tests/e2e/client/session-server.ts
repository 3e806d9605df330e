/** A server on the v1 SDK whose tasks belong to the session that made them: each session has a store of its own. */
import { randomUUID } from 'node:crypto';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { CallToolResult, ProgressNotification } from '@modelcontextprotocol/sdk/types.js';
import { listen, readJson } from '../../servers/shared/http-host.ts';
import { SessionTable } from '../../servers/shared/sessions.ts';
import type { Message } from '../../servers/tasks/state.ts';
import { defer } from '../../support/owned.ts';

export interface SessionServer {
  url: string;
  received: Message[];
  /** Sessions that were opened and not ended. */
  sessions: Set<string>;
  /** Ends all tasks with a result. */
  release(): Promise<void>;
  /** Reports progress of a task by its name alone, with a token that nobody gave. */
  report(taskId: string, progress: number): Promise<void>;
}

interface Held {
  server: McpServer;
  store: InMemoryTaskStore;
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export async function startSessionServer(): Promise<SessionServer> {
  const held = new Map<string, Held>();
  const sessions = new Set<string>();
  const received: Message[] = [];
  const table = new SessionTable(async ({ opened, closed }) => {
    const store = new InMemoryTaskStore();
    defer(async () => store.cleanup());
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.add(id);
        opened(id, transport);
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await build(store, held).connect(transport);
    return transport;
  });
  const host = await listen({
    port: undefined,
    onerror: (error) => {
      throw error;
    },
    async handle(request, response) {
      const body = request.method === 'POST' ? await readJson(request) : undefined;
      if (body !== undefined) received.push(body as Message);
      await table.handle(request, response, body);
    },
  });
  defer(async () => {
    await table.close();
    await host.close();
  });
  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    received,
    sessions,
    async release() {
      const result = { content: [{ type: 'text', text: 'released' }] };
      for (const [taskId, { store }] of held) await store.storeTaskResult(taskId, 'completed', result);
      held.clear();
    },
    async report(taskId, progress) {
      const params: ProgressNotification['params'] = { progressToken: 'unknown', progress, total: 5 };
      const _meta = { [RELATED_TASK]: { taskId } };
      await held.get(taskId)?.server.server.notification({
        method: 'notifications/progress',
        params: { ...params, _meta },
      });
    },
  };
}

function build(taskStore: InMemoryTaskStore, held: Map<string, Held>): McpServer {
  const server = new McpServer(
    { name: 'session-server', version: '1.0.0' },
    { capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }, taskStore },
  );
  const execution = { taskSupport: 'optional' as const };
  server.experimental.tasks.registerToolTask(
    'hold',
    { description: 'Ends when the test says so', execution },
    {
      createTask: async ({ taskStore: store }) => {
        const task = await store.createTask({ ttl: null, pollInterval: 20 });
        held.set(task.taskId, { server, store: taskStore });
        return { task };
      },
      getTask: ({ taskStore: store, taskId }) => store.getTask(taskId),
      getTaskResult: async ({ taskStore: store, taskId }) => (await store.getTaskResult(taskId)) as CallToolResult,
    },
  );
  return server;
}
