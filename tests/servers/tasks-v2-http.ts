import type { ServerResponse } from 'node:http';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen, readJson } from './shared/http-host.ts';
import type { TasksHttp, TasksHttpOptions } from './tasks/http.ts';
import type { Message } from './tasks/state.ts';
import { listenForTasks } from './tasks-v2/listen.ts';
import { buildTasksV2Server, newTasksV2State, type TasksV2State } from './tasks-v2-server.ts';

export type TasksV2Http = TasksHttp<TasksV2State>;

export async function startTasksV2Http({
  port,
  state: kept,
  ...options
}: TasksHttpOptions<TasksV2State> = {}): Promise<TasksV2Http> {
  const state = kept ?? newTasksV2State(options);
  const onerror = (error: unknown) => void state.errors.push(String(error));
  const modern = createMcpHandler(() => buildTasksV2Server(state, () => host.breakStreams()), {
    legacy: 'reject',
    onerror,
  });
  const handle = toNodeHandler(modern, { onerror });

  const host = await listen({
    port,
    onerror,
    async handle(request, response) {
      const body = request.method === 'POST' ? ((await readJson(request)) as Message) : undefined;
      if (body !== undefined) state.received.push({ at: Date.now(), message: body });
      if (body !== undefined && listenOver(response, body, state)) return;
      // Its type differs from what Node gives only in how it spells an absent property.
      await handle(request as NodeIncomingMessageLike, response, body);
    },
  });
  const stop = async (): Promise<void> => {
    await modern.close();
    await host.close();
  };

  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    port: host.port,
    state,
    stop,
    breakStreams: () => host.breakStreams(),
    async close() {
      await stop();
      state.forget();
    },
  };
}

function listenOver(response: ServerResponse, message: Message, state: TasksV2State): boolean {
  const stop = listenForTasks(state, message, (sent) => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(sent)}\n\n`);
  });
  if (stop !== undefined) response.once('close', stop);
  return stop !== undefined;
}
