/** `subscriptions/listen` for tasks, of which the SDK knows nothing. */
import { SUBSCRIPTION_ID_META_KEY, type JSONRPCMessage } from '@modelcontextprotocol/server';
import type { Message } from '../tasks/state.ts';
import type { TasksV2State } from './state.ts';
import type { ExtensionTask } from './task.ts';

/** Tells of the tasks that are asked for, until the returned function is called; `undefined`: none are asked for. */
export function listenForTasks(
  { tasks, listeners, notifies }: TasksV2State,
  { id, method, params = {} }: Message,
  send: (message: JSONRPCMessage) => void,
): (() => void) | undefined {
  const { taskIds } = (params['notifications'] ?? {}) as { taskIds?: unknown };
  if (method !== 'subscriptions/listen' || !Array.isArray(taskIds)) return undefined;
  const honoured = notifies ? taskIds.filter((taskId: string) => tasks.has(taskId)) : [];
  const notify = (name: string, fields: Record<string, unknown>): void => {
    send({ jsonrpc: '2.0', method: name, params: { ...fields, _meta: { [SUBSCRIPTION_ID_META_KEY]: id } } });
  };
  const listener = (task: ExtensionTask): void => {
    if (honoured.includes(task.taskId)) notify('notifications/tasks', task.detailed());
  };
  listeners.add(listener);
  notify('notifications/subscriptions/acknowledged', { notifications: { taskIds: honoured } });
  // What changed between the call and this request would otherwise go untold.
  for (const taskId of honoured) notify('notifications/tasks', tasks.get(taskId)?.detailed() ?? {});
  return () => listeners.delete(listener);
}
