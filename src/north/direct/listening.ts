import type { NotificationListener } from '../../core/session/server-connections.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';
import { withMeta } from '../../lib/meta.ts';
import { SUBSCRIPTION_ID_KEY } from '../../lib/protocol.ts';
import { isObject } from '../../lib/values.ts';
import { notifyWhenStored } from '../commit-gate.ts';
import type { Shown } from './shown.ts';
import type { Params, RequestId } from '../message.ts';
import type { ModernClientState } from './modern-client-state.ts';
import { requireTasks, type ModernClient } from '../modern-client.ts';

const LISTS = {
  toolsListChanged: 'tools',
  resourcesListChanged: 'resources',
  promptsListChanged: 'prompts',
} as const;

interface ListeningParts {
  session: Session;
  shown: Shown;
  clientState: ModernClientState;
  client: ModernClient;
  /** The id of the client's request, which every notification contains. */
  id: RequestId;
  send: (message: { jsonrpc: '2.0'; method: string; params: Params }) => void;
}

/**
 * Reports changes of lists, resources and tasks to a modern client for as long as it listens. Resolves,
 * once the subscription is acknowledged, with the function that ends it.
 */
export async function openSubscription(parts: ListeningParts, { notifications: wanted }: Params): Promise<() => void> {
  const { session, shown, clientState, client, id, send } = parts;
  const filter = isObject(wanted) ? wanted : {};
  const taskIds = texts(filter['taskIds']);
  if (taskIds.length > 0) requireTasks(client);
  session.presence.beginRequest();
  const undo: (() => void)[] = [() => session.presence.endRequest()];
  const stop = (): void => {
    for (const each of undo.splice(0)) each();
  };
  try {
    const tell = (method: string, params: Params = {}): void => {
      send({ jsonrpc: '2.0', method, params: withMeta(params, SUBSCRIPTION_ID_KEY, id) });
    };
    const lists = Object.entries(LISTS).filter(([key, kind]) => filter[key] === true && shown.tellsChanges(kind));
    const resources = await Promise.all(
      texts(filter['resourceSubscriptions']).map(async (uri) => ({ uri, leave: await clientState.watchResource(uri) })),
    );
    const watched = resources.flatMap(({ uri, leave }) => (leave === undefined ? [] : [{ uri, leave }]));
    undo.push(...watched.map(({ leave }) => leave));
    const known = taskIds.filter((taskId) => session.findTask(taskId) !== undefined);
    tell('notifications/subscriptions/acknowledged', {
      notifications: {
        ...Object.fromEntries(lists.map(([key]) => [key, true])),
        ...(watched.length > 0 && { resourceSubscriptions: watched.map(({ uri }) => uri) }),
        ...(known.length > 0 && { taskIds: known }),
      },
    });
    const methods = new Set(lists.map(([, kind]) => `notifications/${kind}/list_changed`));
    const uris = new Set<unknown>(watched.map(({ uri }) => uri));
    const onNotification = (method: string, params: Params = {}): void => {
      const updated = method === 'notifications/resources/updated' && uris.has(params['uri']);
      if (updated || methods.has(method)) tell(method, params);
    };
    const fromServer: NotificationListener = (server, method, params) => {
      for (const sent of shown.fromServer(server, method, params)) onNotification(sent.method, sent.params);
    };
    session.connections.onNotification.add(fromServer);
    const listsChanged = (kind: string): void => onNotification(`notifications/${kind}/list_changed`);
    session.connections.onListsChanged.add(listsChanged);
    undo.push(
      () => session.connections.onNotification.delete(fromServer),
      () => session.connections.onListsChanged.delete(listsChanged),
    );
    const tellTask = (task: Task): void => {
      if (!known.includes(task.id) || session.findTask(task.id) === undefined) return;
      notifyWhenStored(session, () => tell('notifications/tasks', clientState.detailed(task, client.capabilities)));
    };
    undo.push(session.tasks.watch(tellTask));
    // They may have changed before the client started to listen.
    for (const taskId of known) tellTask(session.tasks.get(taskId));
    return stop;
  } catch (error) {
    stop();
    throw error;
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
