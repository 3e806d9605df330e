import { randomUUID } from 'node:crypto';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { listen, readJson } from './shared/http-host.ts';
import { SessionTable } from './shared/sessions.ts';
import type { Message, TasksOptions } from './tasks/state.ts';
import { buildTasksV1Server, newTasksV1State, type TasksV1State } from './tasks-v1-server.ts';

export interface TasksV1HttpOptions extends TasksOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** The tasks of a server that was stopped: this one goes on with them. */
  readonly state?: TasksV1State;
}

export interface TasksV1Http {
  readonly url: string;
  readonly port: number;
  readonly state: TasksV1State;
  /** Ends it and all its tasks. */
  close(): Promise<void>;
  /** Ends it, but not its tasks: the work goes on, and another server may be started with the state. */
  stop(): Promise<void>;
  /** Ends all sessions, so that the next request of each gets 404. The tasks go on. */
  dropSessions(): Promise<void>;
  /** Destroys all open sockets. Sessions stay known. */
  breakStreams(): void;
}

export async function startTasksV1Http({
  port,
  state: kept,
  ...options
}: TasksV1HttpOptions = {}): Promise<TasksV1Http> {
  const state = kept ?? newTasksV1State(options);
  const table = new SessionTable(async ({ opened, closed }) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => opened(id, transport),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await buildTasksV1Server(state, () => host.breakStreams()).connect(transport);
    return transport;
  });

  const host = await listen({
    port,
    onerror: (error) => void state.errors.push(String(error)),
    async handle(request, response) {
      const body = request.method === 'POST' ? await readJson(request) : undefined;
      if (body !== undefined) state.received.push({ at: Date.now(), message: body as Message });
      await table.handle(request, response, body);
    },
  });
  const stop = async (): Promise<void> => {
    await table.close();
    await host.close();
  };

  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    port: host.port,
    state,
    stop,
    dropSessions: () => table.close(),
    breakStreams: () => host.breakStreams(),
    async close() {
      await stop();
      state.forget();
    },
  };
}
