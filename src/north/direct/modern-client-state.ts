import type { RelatedRequest, ServerInfo } from '../../core/ports.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { InputKeys } from '../mrtr/input-keys.ts';
import type { Params } from '../message.ts';
import { HeldRequests } from './held-requests.ts';
import { includes, isLevel } from '../../lib/levels.ts';
import { detailedTask } from './task-views.ts';

type Tell = (method: string, params: Params | undefined) => void;

/** Only `subscriptions/listen` delivers the first ones; the others are not of this era. */
const NOT_PASSED_ON =
  /^notifications\/(?:(?:tools|resources|prompts)\/list_changed|resources\/updated|tasks\/status|elicitation\/complete)$/;

interface Open {
  level: string | undefined;
  tell: Tell;
}

/** What the requests of one client without sessions share, as long as its session lives. */
export class ModernClientState {
  readonly asked: InputKeys;
  readonly held: HeldRequests;
  /** What the client declared last. */
  capabilities: Params = {};
  readonly #session: Session;
  readonly #name: string;
  /** The requests that are open, oldest first. */
  readonly #open = new Map<string, Open>();
  /** How many listen for each resource, and whether the server reports its changes. */
  readonly #watched = new Map<string, { listeners: number; told: Promise<boolean> }>();

  constructor(session: Session, name: string) {
    this.#session = session;
    this.#name = name;
    this.asked = new InputKeys(session);
    this.held = new HeldRequests(session.clock);
    session.onNotification.add((method, params, relatedRequest) =>
      this.#onNotification(method, params, relatedRequest),
    );
  }

  /** A request is open until the returned function is called; `tell` sends a notification in its course. */
  enter(id: string, level: string | undefined, tell: Tell): () => void {
    this.#open.set(id, { level, tell });
    return () => this.#open.delete(id);
  }

  /** A task as its client sees it: working, if it asks something that this client cannot be asked. */
  shown(task: Task, capabilities: Params): Task {
    const asks = task.status === 'input_required' && this.asked.of({ taskId: task.id }, capabilities).size > 0;
    return task.status === 'input_required' && !asks
      ? { ...task, status: 'working', statusMessage: 'waiting for input that this client cannot give' }
      : task;
  }

  detailed(task: Task, capabilities: Params): Params {
    return detailedTask(this.shown(task, capabilities), this.asked.shown({ taskId: task.id }, capabilities));
  }

  /** Servers with sessions have one level for all requests: the most verbose one. */
  async useLevel(level: string, info: ServerInfo): Promise<void> {
    if (info.traits.declaredPerRequest || info.capabilities['logging'] === undefined || !isLevel(level)) return;
    const told = this.#session.logLevel(this.#name);
    if (told !== undefined && includes(told, level)) return;
    const signal = new AbortController().signal;
    const request = {
      id: secretId(),
      method: 'logging/setLevel',
      params: { level },
      signal,
      onProgress: (): void => {},
      rounds: 'return' as const,
    };
    // Known before it is sent: requests that come meanwhile must not ask for less.
    this.#session.setLogLevel(this.#name, level);
    await this.#session.connection(this.#name).relay(request);
  }

  /** Subscribes to a resource, until the last listener leaves it; `undefined` if the server refuses. */
  async watchResource(uri: string): Promise<(() => void) | undefined> {
    const session = this.#session;
    const subscribed = async (): Promise<boolean> =>
      session.subscribe(this.#name, uri).then(
        () => true,
        // A refused subscription is not acknowledged.
        () => false,
      );
    const watched = this.#watched.get(uri) ?? { listeners: 0, told: subscribed() };
    this.#watched.set(uri, watched);
    watched.listeners += 1;
    const told = await watched.told;
    const leave = (): void => {
      watched.listeners -= 1;
      if (watched.listeners > 0) return;
      this.#watched.delete(uri);
      // A server that is away has forgotten it anyway.
      if (told) session.unsubscribe(this.#name, uri).catch(() => {});
    };
    if (told) return leave;
    leave();
    return undefined;
  }

  #onNotification(method: string, params: Params | undefined, relatedRequest: RelatedRequest): void {
    if (NOT_PASSED_ON.test(method)) return;
    const isLog = method === 'notifications/message';
    const wants = ({ level }: Open): boolean => !isLog || (level !== undefined && includes(level, params?.['level']));
    // This era has no notifications without a request.
    if (relatedRequest === 'no request') return;
    // A notification whose request is unknown is sent once.
    const open =
      relatedRequest === 'unknown' ? [...this.#open.values()].find(wants) : this.#open.get(relatedRequest.requestId);
    if (open !== undefined && wants(open)) open.tell(method, params);
  }
}

const clientStates = new WeakMap<Session, ModernClientState>();

/** The state that all requests to this server in this session share. */
export function clientStateOf(session: Session, server: string): ModernClientState {
  const clientState = clientStates.get(session) ?? new ModernClientState(session, server);
  clientStates.set(session, clientState);
  return clientState;
}
