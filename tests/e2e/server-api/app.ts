/** One application with the tools of the matrix, served in two ways: by handlers, or by a worker elsewhere in the program. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AppTaskController, ElicitResult, RunningTask, Task, ToolDefinition } from '../../../src/server/index.ts';
import type { Json } from '../../support/hub.ts';

/** What a test can see of it. */
export interface AppRecord {
  calls: { tool: string; args: Json }[];
  /** Labels of what it was told to stop. */
  cancelled: string[];
}

type Work = (args: Json, task: RunningTask) => Promise<string>;

const SHAPES: Record<string, Json> = {
  echo: { text: { type: 'string' } },
  slow: { ms: { type: 'number' }, text: { type: 'string' }, steps: { type: 'integer' } },
  ask: { message: { type: 'string' } },
  sample: { prompt: { type: 'string' } },
  ask_twice: {},
};

const form = (field: string, type: string): Json => ({
  type: 'object',
  properties: { [field]: { type } },
  required: [field],
});

const nameIn = ({ content }: ElicitResult): string => String(content?.['name']);

const WORKS: Record<string, Work> = {
  echo: async ({ text }) => String(text),
  slow: async ({ ms, text, steps = 0 }, task) => {
    for (let step = 1; step <= Number(steps); step += 1) task.progress(step, Number(steps), `step ${step}`);
    await delay(Number(ms), undefined, { signal: task.signal });
    return String(text);
  },
  ask: async ({ message }, task) => {
    const answer = await task.elicit({ message: String(message), requestedSchema: form('name', 'string') });
    return `Hello ${nameIn(answer)}`;
  },
  sample: async ({ prompt }, task) => {
    const content = { type: 'text', text: String(prompt) };
    return JSON.stringify(await task.sample({ messages: [{ role: 'user', content }], maxTokens: 10 }));
  },
  ask_twice: async (_args, task) => {
    const name = await task.elicit({ message: 'Your name?', requestedSchema: form('name', 'string') });
    const age = await task.elicit({ message: 'Your age?', requestedSchema: form('age', 'integer') });
    return `Hello ${nameIn(name)}, ${String(age.content?.['age'])}`;
  },
};

export function newRecord(): AppRecord {
  return { calls: [], cancelled: [] };
}

/** Each tool does its work itself. */
export function handlers(record: AppRecord): Record<string, ToolDefinition> {
  return define((tool, work) => async (args, task) => work(recorded(record, tool, args, task), task));
}

/** Each tool leaves its work to whoever looks after the tasks. */
export function beginners(record: AppRecord, tasks: AppTaskController): Record<string, ToolDefinition> {
  return define((tool) => async (args) => {
    record.calls.push({ tool, args });
    return { task: await tasks.create({ tool, args }) };
  });
}

/** Works on every task, in its own time. */
export function startWorker(record: AppRecord, tasks: AppTaskController): void {
  const begun = new Map<string, AbortController>();
  const look = (task: Task): void => {
    const atWork = task.status === 'working' || task.status === 'input_required';
    const mine = begun.get(task.id);
    if (!atWork) mine?.abort(new Error(task.status));
    if (!atWork || mine) return;
    const stop = new AbortController();
    begun.set(task.id, stop);
    void workOn(record, tasks, task, stop.signal);
  };
  tasks.watch(look);
  for (const task of tasks.list()) look(task);
}

async function workOn(record: AppRecord, tasks: AppTaskController, task: Task, signal: AbortSignal): Promise<void> {
  const { id, tool, args } = task;
  let asked = 0;
  const ask = async <T>(kind: 'elicitation' | 'sampling', params: Json): Promise<T> => {
    asked += 1;
    return (await tasks.ask(id, { kind, params, key: `question ${asked}`, signal })) as T;
  };
  try {
    const text = await WORKS[tool]?.(args, {
      signal,
      progress: (_progress, _total, message = '') => tasks.report(id, message),
      elicit: async (question) => ask('elicitation', question),
      sample: async (request) => ask('sampling', request),
    });
    await tasks.complete(id, { content: [{ type: 'text', text }] });
  } catch (error) {
    if (signal.aborted) record.cancelled.push(labelOf(tool, args));
    await tasks.fail(id, { code: -32000, message: String(error) });
  }
}

function define(run: (tool: string, work: Work) => ToolDefinition['run']): Record<string, ToolDefinition> {
  const tools = Object.entries(WORKS).map(([tool, work]) => {
    const inputSchema = { type: 'object', properties: SHAPES[tool] ?? {} };
    return [tool, { description: tool, inputSchema, run: run(tool, work) }] as const;
  });
  return Object.fromEntries(tools);
}

function recorded(record: AppRecord, tool: string, args: Json, { signal }: RunningTask): Json {
  record.calls.push({ tool, args });
  // Also after it is done nobody has anything to stop.
  signal.addEventListener('abort', () => record.cancelled.push(labelOf(tool, args)), { once: true });
  return args;
}

const labelOf = (tool: string, { text }: Json): string => `${tool}:${String(text)}`;
