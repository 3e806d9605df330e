import { basicState, type TasksOptions, type TasksState } from '../tasks/state.ts';
import type { ToolResult, Work } from '../tasks/tool.ts';
import { ExtensionTask } from './task.ts';

/** Outlives the listener of a server, if the test wants it to. */
export interface TasksV2State extends TasksState {
  readonly tasks: Map<string, ExtensionTask>;
  readonly released: Promise<void>;
  readonly listeners: Set<(task: ExtensionTask) => void>;
  begin(label: string, tool: (work: Work) => Promise<ToolResult>): ExtensionTask;
}

export function newTasksV2State(options?: TasksOptions): TasksV2State {
  const basic = basicState(options);
  const tasks: TasksV2State['tasks'] = new Map();
  const listeners: TasksV2State['listeners'] = new Set();
  const state: TasksV2State = {
    ...basic,
    tasks,
    listeners,
    begin(label, tool) {
      const task = new ExtensionTask(basic.released, state.pollMs, (changed) => {
        for (const listener of listeners) listener(changed);
      });
      tasks.set(task.taskId, task);
      task.signal.addEventListener('abort', () => {
        if (tasks.has(task.taskId)) state.cancelled.push(label);
      });
      task.run(tool).catch((error: unknown) => state.errors.push(String(error)));
      return task;
    },
    forget() {
      const all = [...tasks.values()];
      tasks.clear();
      for (const task of all) task.cancel();
    },
  };
  return state;
}
