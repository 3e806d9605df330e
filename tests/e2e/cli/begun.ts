/** Tasks that somebody began and left. */
import { TaskClient } from '../../../src/client/task-client.ts';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { defer, owned } from '../../support/owned.ts';

export interface Begun {
  server: Awaited<ReturnType<typeof startTasksV1Http>> | Awaited<ReturnType<typeof startTasksV2Http>>;
  /** What names the task on a command line: `<server> <task id> [--session ID]`. */
  task: string[];
  taskId: string;
  session: string[];
}

export async function begin(
  start: typeof startTasksV1Http | typeof startTasksV2Http,
  tool: string,
  args = {},
): Promise<Begun> {
  const server = owned(await start());
  const client = new TaskClient({ url: server.url }, { elicitation: true, sampling: true });
  defer(async () => client.disconnect());
  const stream = client.callToolStream(tool, args);
  for await (const message of stream) {
    if (message.type !== 'taskCreated') continue;
    const { taskId } = message.task;
    const session = client.sessionId === undefined ? [] : ['--session', client.sessionId];
    await client.disconnect({ keepSession: true });
    return { server, taskId, session, task: [server.url, taskId, ...session] };
  }
  throw new Error('no task was made');
}

export const GENERATIONS = [
  ['2025-11-25', startTasksV1Http],
  ['2026-07-28', startTasksV2Http],
] as const;
