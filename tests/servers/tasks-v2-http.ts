import type { ServerResponse } from 'node:http';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen, readJson } from './shared/http-host.ts';
import type { Message, TasksOptions } from './tasks/state.ts';
import { listenForTasks } from './tasks-v2/listen.ts';
import { buildTasksV2Server, newTasksV2State, type TasksV2State } from './tasks-v2-server.ts';

export interface TasksV2HttpOptions extends TasksOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** The tasks of a server that was stopped: this one goes on with them. */
  readonly state?: TasksV2State;
}

export interface TasksV2Http {
  readonly url: string;
  readonly port: number;
  readonly state: TasksV2State;
  /** Ends it and all its tasks. */
  close(): Promise<void>;
  /** Ends it, but not its tasks: the work goes on, and another server may be started with the state. */
  stop(): Promise<void>;
  /** Destroys all open sockets. */
  breakStreams(): void;
}

export async function startTasksV2Http({
  port,
  state: kept,
  ...options
}: TasksV2HttpOptions = {}): Promise<TasksV2Http> {
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
