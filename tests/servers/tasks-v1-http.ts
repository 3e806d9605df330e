import { listen, readJson } from './shared/http-host.ts';
import { v1Sessions } from './shared/v1-sessions.ts';
import type { TasksHttp, TasksHttpOptions } from './tasks/http.ts';
import type { Message } from './tasks/state.ts';
import { buildTasksV1Server, newTasksV1State, type TasksV1State } from './tasks-v1-server.ts';

export interface TasksV1Http extends TasksHttp<TasksV1State> {
  /** Ends all sessions, so that the next request of each gets 404. The tasks go on. */
  dropSessions(): Promise<void>;
}

export async function startTasksV1Http({
  port,
  state: kept,
  ...options
}: TasksHttpOptions<TasksV1State> = {}): Promise<TasksV1Http> {
  const state = kept ?? newTasksV1State(options);
  const table = v1Sessions(() => buildTasksV1Server(state, () => host.breakStreams()));

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
