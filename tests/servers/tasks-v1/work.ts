import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ErrorCode,
  McpError,
  type ProgressToken,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { HUMAN_TIMEOUT } from '../shared/forms.ts';
import type { TaskTool, ToolResult, Work } from '../tasks/tool.ts';
import { labelOf } from '../tasks/tools.ts';
import type { TasksV1State } from './state.ts';

export interface Job {
  readonly taskId: string;
  readonly tool: TaskTool;
  readonly args: Record<string, unknown>;
  /** The session that asked for it. */
  readonly server: Server;
  readonly progressToken: ProgressToken | undefined;
}

/** Runs a tool as a task. The work belongs to no session: when one ends, the next is told and asked. */
export async function work(state: TasksV1State, job: Job): Promise<void> {
  const { taskId, tool, args } = job;
  const over = new AbortController();
  state.working.set(taskId, { label: labelOf(tool.name, args), over });
  try {
    const stopped = new Promise<never>((_resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
    });
    const result = await Promise.race([tool.run(args, workOf(state, job, over.signal)), stopped]);
    await state.store.storeTaskResult(taskId, isError(result) ? 'failed' : 'completed', result);
  } catch (error) {
    if (over.signal.aborted) return;
    await state.store.storeFault(taskId, error as Error);
  } finally {
    state.working.delete(taskId);
  }
  await tell(state, job);
}

/** The protocol wants a task `failed` whose tool reports an error; its result is there all the same. */
function isError(result: ToolResult): boolean {
  return result['isError'] === true;
}

function isClosed(error: unknown): boolean {
  const closed: number = ErrorCode.ConnectionClosed;
  return error instanceof McpError && error.code === closed;
}

function workOf(state: TasksV1State, job: Job, signal: AbortSignal): Work {
  const { taskId, server, progressToken } = job;
  const { store, released, sessions } = state;
  let open = 0;

  const set = async (status: 'working' | 'input_required', message?: string): Promise<void> => {
    await store.updateTaskStatus(taskId, status, message);
    await tell(state, job);
  };

  async function ask<T>(put: (session: Server) => Promise<T>): Promise<T> {
    open += 1;
    try {
      for (;;) {
        const session = await sessions.meet(server, signal);
        try {
          const [answer] = await Promise.all([put(session), set('input_required')]);
          return answer;
        } catch (error) {
          // Whoever comes next is asked again.
          if (!isClosed(error)) throw error;
        }
      }
    } finally {
      open -= 1;
      if (open === 0 && !signal.aborted) await set('working');
    }
  }

  // Questions of a task wait in its queue until somebody asks for its result.
  const options = { relatedTask: { taskId }, timeout: HUMAN_TIMEOUT, signal };
  return {
    signal,
    released,
    say: (message) => set('working', message),
    progress: async (progress, total, message) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, total, message };
      await sessions.find(server)?.notification({ method: 'notifications/progress', params });
    },
    elicit: (params) => {
      const request: ServerRequest = { method: 'elicitation/create', params };
      return ask((session) => session.request(request, ElicitResultSchema, options));
    },
    sample: (params) => {
      const request: ServerRequest = { method: 'sampling/createMessage', params };
      return ask((session) => session.request(request, CreateMessageResultSchema, options));
    },
  };
}

async function tell({ notifies, store, sessions, errors }: TasksV1State, { taskId, server }: Job): Promise<void> {
  const task = await store.getTask(taskId);
  if (!notifies || task === null) return;
  try {
    await sessions.find(server)?.notification({ method: 'notifications/tasks/status', params: task });
  } catch (error) {
    errors.push(String(error));
  }
}
