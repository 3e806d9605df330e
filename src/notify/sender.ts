/** Sends a notification to its target, which is opened on first use. */

import { ANSWER_KEY, ANSWER_PATH, sealGrant } from '../core/notify/answer-link.ts';
import type { QueuedNotice } from '../core/ports/outbox.ts';
import type { Store } from '../core/ports/store.ts';
import type { Clock } from '../lib/clock.ts';
import { parseExact } from '../lib/exact-json.ts';
import { timeoutSignal } from '../lib/timers.ts';
import { messageFrom, type NotifyMessage } from './message.ts';
import type { Notification } from './notification.ts';
import { TASK_WEBHOOK } from './plan.ts';
import type { NotifySettings, TargetSettings } from './settings.ts';
import { SendFailure, type Target } from './target.ts';
import { openTarget } from './targets/open.ts';
import type { TaskWebhooks } from './task-webhooks.ts';

/** How long a webhook of a task may take. */
export const WEBHOOK_MS = 10_000;

export interface SenderParts {
  settings: NotifySettings;
  store: Pick<Store, 'secret'>;
  clock: Clock;
  /** Where people reach the gateway, once that is known. */
  base: () => string | undefined;
  webhooks: TaskWebhooks | undefined;
}

export class Sender {
  readonly #parts: SenderParts;
  readonly #open = new Map<string, Promise<Target>>();
  #answerKey: Promise<Buffer> | undefined;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Whether this gateway has the target. */
  knows(target: string): boolean {
    const { settings, webhooks } = this.#parts;
    return Object.hasOwn(settings.targets, target) || (webhooks !== undefined && target.startsWith(TASK_WEBHOOK));
  }

  /** How long the target may take. */
  timeoutOf(target: string): number {
    return this.#parts.settings.targets[target]?.timeoutMs ?? WEBHOOK_MS;
  }

  async send(notice: QueuedNotice, stop: AbortSignal): Promise<void> {
    const notification = parseExact(notice.data) as Notification;
    const { webhook } = notification;
    const target = this.#parts.settings.targets[notice.target];
    if (webhook !== undefined) await this.#sendTo(await this.#taskWebhook(webhook), notice.id, notification, stop);
    else if (target !== undefined) {
      const answerLink = await this.#answerLink(notification, notice.target, target);
      await this.#sendTo(await this.#target(notice.target, target), notice.id, notification, stop, {
        timeoutMs: target.timeoutMs,
        answerLink,
      });
    } else throw new SendFailure('the target is no longer configured', { isFinal: true });
  }

  async #sendTo(
    target: Target,
    id: string,
    notification: Notification,
    stop: AbortSignal,
    { timeoutMs = WEBHOOK_MS, answerLink }: { timeoutMs?: number; answerLink?: string | undefined } = {},
  ): Promise<void> {
    const message = messageFrom(id, notification, { base: this.#parts.base(), answerLink });
    await sendInTime(target, message, timeoutMs, this.#parts.clock, stop);
  }

  async #target(name: string, settings: TargetSettings): Promise<Target> {
    const { clock } = this.#parts;
    const known = this.#open.get(name) ?? openTarget(settings, () => clock.now());
    this.#open.set(name, known);
    // What could not be loaded is loaded again.
    known.catch(() => this.#open.delete(name));
    return known;
  }

  async #taskWebhook(url: string): Promise<Target> {
    const { webhooks, settings, clock } = this.#parts;
    const { webhook } = await import('./targets/webhook.ts');
    const lookup = webhooks?.lookupFor(new URL(url));
    return webhook({ url, secret: settings.taskWebhooks?.secret }, () => clock.now(), { lookup });
  }

  /** Only a form can be answered on the small page behind such a link. */
  async #answerLink(
    { question, principal }: Notification,
    target: string,
    { answerLinks }: TargetSettings,
  ): Promise<string | undefined> {
    const base = this.#parts.base();
    if (!answerLinks || base === undefined || question?.kind !== 'elicitation' || question.mode === 'url')
      return undefined;
    this.#answerKey ??= this.#parts.store.secret(ANSWER_KEY);
    const { id: questionId, sessionId, expiresAt } = question;
    return (
      base + ANSWER_PATH + sealGrant(await this.#answerKey, { questionId, sessionId, principal, target, expiresAt })
    );
  }
}

/** Throws if the target takes longer, or if the sending is stopped. */
export async function sendInTime(
  target: Target,
  message: NotifyMessage,
  timeoutMs: number,
  clock: Clock,
  stop?: AbortSignal,
): Promise<void> {
  const { signal, cancel } = timeoutSignal(timeoutMs, clock);
  try {
    await target.send(message, stop === undefined ? signal : AbortSignal.any([signal, stop]));
  } catch (error) {
    if (signal.aborted) throw new SendFailure(`no answer within ${timeoutMs / 1000} seconds`);
    throw error;
  } finally {
    cancel();
  }
}
