/** Reports the events of one session to the notifier. */

import { WEBHOOK_META } from '../../lib/meta.ts';
import type { Clock } from '../../lib/clock.ts';
import type { InFlight } from '../../lib/in-flight.ts';
import { sleep } from '../../lib/timers.ts';
import type { LiveCall } from '../call/live-call.ts';
import { GatewayError } from '../errors.ts';
import { isPerson, messageIn, modeOf } from '../history/question-params.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import { requestOf } from '../interaction/link.ts';
import type { SessionStore } from '../ports/store.ts';
import type { TaskBook } from '../task/book.ts';
import type { EndedTask } from '../task/task.ts';
import type { Notifier } from './notifier.ts';

/** How often, and at what intervals, to check whether a failing store has the end of a task. */
const STORE_ATTEMPTS = 60;
const STORE_RETRY_MS = 1000;

export interface NotifyingSession {
  id: string;
  principal: string;
  live: Pick<InFlight<string, LiveCall>, 'get'>;
  tasks: Pick<TaskBook, 'find'>;
  store: Pick<SessionStore, 'settled' | 'recorded' | 'isLost'>;
  clock: Clock;
}

export class SessionNotifier {
  readonly #notifier: Notifier;
  readonly #session: NotifyingSession;

  constructor(notifier: Notifier, session: NotifyingSession) {
    this.#notifier = notifier;
    this.#session = session;
  }

  /** A question has arrived or changed. `claimed`: its client is being asked. */
  questionChanged(interaction: OpenInteraction, claimed: boolean): void {
    const { id, kind, server, params, link, audience, createdAt, expiresAt, signIn } = interaction;
    // A hidden question does not concern the client, and a client that takes a sampling request has its own model.
    if (audience === 'none' || !isPerson(kind) || (kind === 'sampling' && claimed)) return;
    const { principal, id: sessionId } = this.#session;
    const { tool, args } = this.#callOf(requestOf(link));
    const [mode, message] = [modeOf(kind, params), messageIn(kind, params)];
    const about = { id, kind, mode, server, tool, principal, sessionId, createdAt, expiresAt, message, args };
    const signInUrl = signIn === undefined ? undefined : String(params['url']);
    this.#notifier.questionOpen({ ...about, ...(signInUrl !== undefined && { signInUrl }) });
  }

  questionEnded(id: string): void {
    this.#notifier.questionEnded(id);
  }

  /** Reported once stored: if another gateway owns the session, the task may continue there and end differently. */
  taskEnded(task: EndedTask): void {
    void this.#isStored().then((isStored) => {
      if (isStored) this.#notifier.taskEnded({ task, principal: this.#session.principal });
    });
  }

  /** If not, the gateway that restores the session reports its tasks. */
  async #isStored(): Promise<boolean> {
    const { store, clock } = this.#session;
    for (let attempt = 1; !store.isLost; attempt += 1) {
      try {
        await (store.recorded === undefined ? store.settled() : store.recorded());
        return !store.isLost;
      } catch {
        // A shared store has already retried as long as that could help.
        if (store.recorded !== undefined || attempt === STORE_ATTEMPTS) return false;
      }
      await sleep(STORE_RETRY_MS, clock);
    }
    return false;
  }

  serverLost(server: string, reason: string): void {
    this.#notifier.serverLost(server, this.#session.principal, reason);
  }

  serverBack(server: string): void {
    this.#notifier.serverBack(server, this.#session.principal);
  }

  webhook(given: unknown): string {
    return this.#notifier.webhook(given);
  }

  #callOf(by: ReturnType<typeof requestOf>): { tool?: string; args?: Record<string, unknown> } {
    const task = by?.taskId === undefined ? undefined : this.#session.tasks.find(by.taskId);
    if (task !== undefined) return task;
    return (by?.callId === undefined ? undefined : this.#session.live.get(by.callId)?.request) ?? {};
  }
}

/** For a gateway without `notify.taskWebhooks`. */
export function webhooksNotAllowed(): GatewayError {
  return new GatewayError(
    'TOOL_ERR_NOT_ALLOWED',
    `_meta["${WEBHOOK_META}"]: this gateway does not call task webhooks; the operator can allow URLs with meanwhile.notify.taskWebhooks`,
  );
}
