/** What notifications are told of one session. */

import type { InFlight } from '../../lib/in-flight.ts';
import type { LiveCall } from '../call/live-call.ts';
import { GatewayError } from '../errors.ts';
import { isPerson, messageIn, modeOf } from '../history/asked.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import { requestOf } from '../interaction/link.ts';
import type { TaskBook } from '../task/book.ts';
import type { EndedTask } from '../task/task.ts';
import type { Notifier } from './notifier.ts';

/** The key in the `_meta` of a call that names the URL to call when its task ends. */
export const WEBHOOK_KEY = 'meanwhile/webhook';

export interface NotifyingSession {
  id: string;
  principal: string;
  live: Pick<InFlight<string, LiveCall>, 'get'>;
  tasks: Pick<TaskBook, 'find'>;
}

export class SessionNotifier {
  readonly #notifier: Notifier;
  readonly #session: NotifyingSession;

  constructor(notifier: Notifier, session: NotifyingSession) {
    this.#notifier = notifier;
    this.#session = session;
  }

  /** A question is there, or has changed. `claimed`: its client is being asked. */
  questionChanged(interaction: OpenInteraction, claimed: boolean): void {
    const { id, kind, server, params, link, audience, createdAt, expiresAt } = interaction;
    // One that the client is not shown does not concern it, and a client that takes a sampling request has a model for it.
    if (audience === 'none' || !isPerson(kind) || (kind === 'sampling' && claimed)) return;
    const { principal, id: sessionId } = this.#session;
    const { tool, args } = this.#callOf(requestOf(link));
    const [mode, message] = [modeOf(kind, params), messageIn(kind, params)];
    const about = { id, kind, mode, server, tool, principal, sessionId, createdAt, expiresAt, message, args };
    this.#notifier.questionOpen(about);
  }

  questionEnded(id: string): void {
    this.#notifier.questionEnded(id);
  }

  taskEnded(task: EndedTask): void {
    this.#notifier.taskEnded({ task, principal: this.#session.principal });
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
    `_meta["${WEBHOOK_KEY}"]: this gateway calls no webhooks of tasks; the operator can allow URLs with meanwhile.notify.taskWebhooks`,
  );
}
