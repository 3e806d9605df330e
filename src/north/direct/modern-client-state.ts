import type { RelatedRequest } from '../../core/ports/connection.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { ClientRequest } from '../client-request.ts';
import { InputKeys } from '../mrtr/input-keys.ts';
import type { Params } from '../message.ts';
import { HeldRequests } from './held-requests.ts';
import { includes, isLevel } from '../../lib/levels.ts';
import { sendTo, type ServerNotification, type Recipient, type Shown } from './shown.ts';
import { setLogLevel } from './log-level.ts';
import { detailedTask } from './task-views.ts';

/** The first ones are delivered only by `subscriptions/listen`; the others do not exist in this era. */
const NOT_PASSED_ON =
  /^notifications\/(?:(?:tools|resources|prompts)\/list_changed|resources\/updated|tasks\/status|elicitation\/complete)$/;

interface Open {
  /** The id of the request to the server; several may follow the same call. */
  id: string;
  server: string;
  level: string | undefined;
  request: Pick<ClientRequest, 'notify'>;
}

/** The state shared by the requests of one modern client, as long as its session lives. */
export class ModernClientState {
  readonly asked: InputKeys;
  readonly held: HeldRequests;
  /** The last declared capabilities. */
  capabilities: Params = {};
  readonly #session: Session;
  readonly #shown: Shown;
  /** The requests that are open, oldest first. */
  readonly #open = new InFlight<Open, Open>();
  /** The listeners of each resource, and the subscription on its server. */
  readonly #watched = new Map<
    string,
    { listeners: number; subscribed: Promise<(() => Promise<unknown>) | undefined> }
  >();

  constructor(session: Session, shown: Shown) {
    this.#session = session;
    this.#shown = shown;
    this.asked = new InputKeys(session);
    this.held = new HeldRequests(session.clock);
    session.connections.onNotification.add((server, method, params, relatedRequest) => {
      for (const sent of shown.fromServer(server, method, params)) this.#onNotification(server, sent, relatedRequest);
    });
  }

  /** Registers a request until it leaves; notifications are sent on its stream. */
  enter(id: string, server: string, level: string | undefined, request: Open['request']): Open {
    const open: Open = { id, server, level, request };
    this.#open.add(open, open);
    return open;
  }

  leave(open: Open): void {
    this.#open.delete(open);
  }

  /** A task as its client sees it: `working` if it asks a question that this client does not support. */
  shown(task: Task, capabilities: Params): Task {
    const asks = task.status === 'input_required' && this.asked.of({ taskId: task.id }, capabilities).size > 0;
    return task.status === 'input_required' && !asks
      ? { ...task, status: 'working', statusMessage: 'waiting for input that this client does not support' }
      : task;
  }

  detailed(task: Task, capabilities: Params): Params {
    const seen = this.shown(task, capabilities);
    const asked = this.asked.shown({ taskId: task.id }, capabilities);
    if (seen.status !== 'completed') return detailedTask(seen, asked);
    return detailedTask({ ...seen, result: this.#shown.resultFrom(task.server, seen.result) }, asked);
  }

  /** Legacy servers have one level for all requests: the most verbose one. */
  async useLevel(level: string, { server, info }: Recipient): Promise<void> {
    if (info.traits.declaredPerRequest || info.capabilities['logging'] === undefined || !isLevel(level)) return;
    const told = this.#session.preferences.logLevel(server);
    if (told !== undefined && includes(told, level)) return;
    // Recorded before it is sent: concurrent requests must not lower the level.
    this.#session.preferences.setLogLevel(server, level);
    await setLogLevel(this.#session.connection(server), level);
  }

  /** Subscribes to a resource, until the last listener leaves it; `undefined` if the server refuses. */
  async watchResource(uri: string): Promise<(() => void) | undefined> {
    const watched = this.#watched.get(uri) ?? { listeners: 0, subscribed: this.#subscribe(uri) };
    this.#watched.set(uri, watched);
    watched.listeners += 1;
    const unsubscribe = await watched.subscribed;
    const leave = (): void => {
      watched.listeners -= 1;
      if (watched.listeners > 0) return;
      this.#watched.delete(uri);
      // A disconnected server has forgotten it anyway.
      unsubscribe?.().catch(() => {});
    };
    if (unsubscribe) return leave;
    leave();
    return undefined;
  }

  /** Resolves with the function that ends the subscription; `undefined` if the server refuses it, so that it is not acknowledged. */
  async #subscribe(uri: string): Promise<(() => Promise<unknown>) | undefined> {
    const session = this.#session;
    const shown = this.#shown;
    try {
      return await sendTo(await shown.route('resources/subscribe', { uri }), async ({ server, params }) => {
        const address = String(params['uri']);
        await session.subscribe(server, address);
        shown.subscribed(server, address, uri);
        return async () => {
          if (shown.unsubscribed(server, address, uri)) await session.unsubscribe(server, address);
        };
      });
    } catch {
      return undefined;
    }
  }

  #onNotification(server: string, { method, params }: ServerNotification, relatedRequest: RelatedRequest): void {
    if (NOT_PASSED_ON.test(method)) return;
    const isLog = method === 'notifications/message';
    const wants = ({ level }: Open): boolean => !isLog || (level !== undefined && includes(level, params?.['level']));
    // This era has no notifications without a request.
    if (relatedRequest === 'no request') return;
    // A notification whose request is unknown is sent once.
    const all = this.#open.values().filter((open) => open.server === server);
    const open =
      relatedRequest === 'unknown' ? all.find(wants) : all.findLast(({ id }) => id === relatedRequest.requestId);
    if (open !== undefined && wants(open)) open.request.notify(method, params);
  }
}

const clientStates = new WeakMap<Session, ModernClientState>();

/** The state that all requests in this session share. */
export function clientStateOf(session: Session, shown: Shown): ModernClientState {
  const known = clientStates.get(session);
  if (known) return known;
  const clientState = new ModernClientState(session, shown);
  clientStates.set(session, clientState);
  return clientState;
}
