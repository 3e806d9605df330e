/**
 * Sends due notifications. Each target has its own lane, so that a hanging or failing target does not delay the others. A lane claims some
 * notifications, sends them concurrently, and continues until none is due.
 *
 *   waiting → claimed → delivered          never sent again
 *                     → waiting, later     it failed; the pauses become longer
 *                     → failed             given up: expired, or rejected by the target
 */

import { countDropped } from '../core/notify/dropped.ts';
import type { Observed } from '../core/observer.ts';
import type { ClusterStore } from '../core/ports/cluster-store.ts';
import type { ClaimedNotice } from '../core/ports/outbox.ts';
import type { Store } from '../core/ports/store.ts';
import { backoffDelay } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { parseExact } from '../lib/exact-json.ts';
import { Alarm, every, within } from '../lib/timers.ts';
import { questionOf, type Notification } from './notification.ts';
import { labelOf, type Plan } from './plan.ts';
import { afterQuietHours } from './quiet-hours.ts';
import { WEBHOOK_MS, type Sender } from './sender.ts';
import type { NotifySettings } from './settings.ts';
import { SendFailure } from './target.ts';

/** How many messages a target gets at the same time. */
const AT_ONCE = 4;
/** Longer than any target may take. After that others may send a message, even if the gateway that claimed it seems to be there. */
const CLAIM_MS = 120_000;
/** A gateway whose lease has ended may still be at it for as long as its targets may take, and some more. */
const GONE_AFTER_MS = 5000;
/** A gateway may queue a notification just before it stores the question. */
const STORED_WITHIN_MS = 10_000;
/** The maximum delay until notifications of other gateways are found. */
const POLL_MS = 5000;
const STORE_RETRY_MS = 2000;
const TRIM_MS = 60_000;
const MOST_NOTICES = 20_000;
const BACKOFF = { firstMs: 5000, factor: 2, maxMs: 15 * 60_000 };
/** How long the end of the program waits for messages that are on their way. */
const LAST_SENDS_MS = 1000;

export interface DispatcherParts {
  store: Pick<Store, 'outbox' | 'cluster' | 'addToCounter'>;
  /** Whether a question waits at this gateway. */
  isOpen: (questionId: string) => boolean;
  sender: Sender;
  plan: Plan;
  settings: NotifySettings;
  clock: Clock;
  log: Log;
  observed: Observed;
  /** How many are kept. */
  most?: number;
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #alarm: Alarm;
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  /** The targets whose last attempt failed. */
  readonly #failing = new Set<string>();
  #stopTimers: (() => void)[] = [];
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #closing = false;
  #storeFails = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(() => this.wake(), parts.clock);
  }

  start(): void {
    const { clock, store } = this.#parts;
    this.#stopTimers = [
      every(TRIM_MS, () => void this.#trim(), clock),
      ...(store.cluster ? [every(POLL_MS, () => void this.#reclaim(), clock)] : []),
    ];
    void this.#reclaim();
  }

  /** Notifications claimed by dead gateways are sent immediately. */
  async #reclaim(): Promise<void> {
    const { clock, settings, store } = this.#parts;
    const timeouts = Object.values(settings.targets).map(({ timeoutMs }) => timeoutMs);
    try {
      await store.outbox.reclaim(clock.now(), Math.max(WEBHOOK_MS, ...timeouts) + GONE_AFTER_MS);
    } catch (error) {
      // They are due again when their claims end.
      this.#storeFailed('notifications_not_reclaimed', error);
    }
    this.wake();
  }

  /** Something may be due. */
  wake(): void {
    if (this.#closing) return;
    this.#lookAgain = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      // Since the last look.
      if (this.#lookAgain) this.wake();
    });
  }

  /** Resolves when nothing is being sent, and nothing is due. */
  async idle(): Promise<void> {
    while (this.#looking !== undefined || this.#lanes.size > 0) {
      await Promise.all([this.#looking, ...this.#lanes.values()]);
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const stop of this.#stopTimers) stop();
    this.#alarm.stop();
    await within(LAST_SENDS_MS, this.idle(), this.#parts.clock);
    this.#stop.abort(new Error('the gateway is shutting down'));
    await this.idle();
  }

  async #look(): Promise<void> {
    const { store, clock, sender } = this.#parts;
    while (this.#lookAgain && !this.#closing) {
      this.#lookAgain = false;
      try {
        const { targets, nextAt } = await store.outbox.due(clock.now());
        for (const target of targets) if (sender.knows(target)) this.#run(target);
        this.#alarm.at(nextAt);
        this.#storeWorks();
      } catch (error) {
        this.#storeFailed('notifications_not_read', error);
        this.#alarm.at(clock.now() + STORE_RETRY_MS);
      }
    }
  }

  #run(target: string): void {
    if (this.#lanes.has(target)) return;
    const lane = this.#empty(target).finally(() => {
      this.#lanes.delete(target);
      this.wake();
    });
    this.#lanes.set(target, lane);
  }

  async #empty(target: string): Promise<void> {
    const { store, clock } = this.#parts;
    try {
      while (!this.#closing) {
        const now = clock.now();
        const claimed = await store.outbox.claim({ target, now, until: now + CLAIM_MS, limit: AT_ONCE });
        if (claimed.length === 0) return;
        await Promise.all(claimed.map(async (notice) => this.#deliver(notice)));
      }
    } catch (error) {
      this.#storeFailed('notifications_not_claimed', error);
      await this.#pause();
    }
  }

  async #deliver(notice: ClaimedNotice): Promise<void> {
    const { outbox } = this.#parts.store;
    const { clock, settings, sender } = this.#parts;
    const now = clock.now();
    // Others are not kept from their sleep by a message that could not be sent before.
    const dueAt = afterQuietHours(settings.targets[notice.target]?.quietHours, now);
    if (dueAt > now) {
      await this.#write(async () => outbox.postpone(notice, { dueAt, attempts: notice.attempts - 1 }));
      return;
    }
    if (now >= notice.giveUpAt) {
      await this.#giveUp(notice, undefined);
      return;
    }
    if (!(await this.#isNeeded(notice, now))) return;
    try {
      // The read may have been slow. Once the claim has expired, another gateway may send it.
      if (clock.now() + sender.timeoutOf(notice.target) > notice.until) return;
      await sender.send(notice, this.#stop.signal);
    } catch (error) {
      await this.#failed(notice, error);
      return;
    }
    this.#sent(notice);
    await this.#write(async () => outbox.end(notice, { state: 'delivered', at: clock.now() }));
  }

  /**
   * Whether the question still waits. A gateway that was killed leaves notifications of questions that have ended with it. A session
   * that is restored tells again of those that go on.
   */
  async #isNeeded(notice: ClaimedNotice, now: number): Promise<boolean> {
    const { store, isOpen } = this.#parts;
    const { subject, createdAt, attempts } = notice;
    const id = questionOf(subject);
    if (id === undefined || isOpen(id)) return true;
    const kept = store.cluster && (await this.#whereKept(store.cluster, id, notice));
    // The session may have been restored here meanwhile.
    if (kept === 'elsewhere' || isOpen(id)) return true;
    // The gateway that has it may be late with its lease, or it may be on its way to the store.
    const dueAt = (kept === 'unowned' ? now : createdAt) + STORED_WITHIN_MS;
    if (store.cluster && dueAt > now) {
      await this.#write(async () => store.outbox.postpone(notice, { dueAt, attempts: attempts - 1 }));
    } else await store.outbox.drop([subject]);
    return false;
  }

  /** Whether another gateway has the question; `unowned` if it is stored, and none has it. */
  async #whereKept(
    cluster: ClusterStore,
    id: string,
    { data }: ClaimedNotice,
  ): Promise<'elsewhere' | 'unowned' | undefined> {
    const { principal } = parseExact(data) as Notification;
    const session = await cluster.sessionWith('question', id, principal);
    if (session === undefined) return undefined;
    const owner = await cluster.ownerOf(session.id);
    return owner !== undefined && owner.id !== cluster.gatewayId ? 'elsewhere' : 'unowned';
  }

  #sent({ id, target }: ClaimedNotice): void {
    const { log, observed } = this.#parts;
    observed.observer?.notificationSent(labelOf(target), 'delivered');
    log.debug('notification_delivered', { target, id });
    if (this.#failing.delete(target)) log.info('notifications_delivered_again', { target });
  }

  async #failed(notice: ClaimedNotice, error: unknown): Promise<void> {
    const { clock, log, observed, store } = this.#parts;
    const { target, attempts } = notice;
    const now = clock.now();
    if (this.#stop.signal.aborted) {
      // The next run sends it at once.
      await this.#write(async () => store.outbox.postpone(notice, { dueAt: now, attempts: attempts - 1 }));
      return;
    }
    const message = messageOf(error);
    const { isFinal, retryAfterMs = 0 } = error instanceof SendFailure ? error : { isFinal: false };
    const dueAt = now + Math.max(retryAfterMs, backoffDelay(attempts, BACKOFF));
    if (isFinal || dueAt >= notice.giveUpAt) {
      await this.#giveUp(notice, message);
      return;
    }
    observed.observer?.notificationSent(labelOf(target), 'failed');
    if (!this.#failing.has(target)) log.warn('notification_failed', { target, error: message, again: true });
    this.#failing.add(target);
    await this.#write(async () => store.outbox.postpone(notice, { dueAt, attempts, error: message }));
  }

  /** Without an error, the notification has expired. */
  async #giveUp(notice: ClaimedNotice, error: string | undefined): Promise<void> {
    const { clock, log, observed, plan, settings, store } = this.#parts;
    const { id, target, attempts } = notice;
    observed.observer?.notificationSent(labelOf(target), 'given_up');
    log.warn('notification_given_up', { target, id, attempts, error: error ?? 'it expired' });
    const next = settings.targets[target]?.escalate?.to;
    await this.#write(async () => {
      if (next !== undefined && clock.now() < (questionEnd(notice) ?? Infinity)) {
        const handedOver = plan.handOver(notice, next, clock.now());
        if (handedOver !== undefined) await store.outbox.add([handedOver]);
      }
      const outcome = { state: 'failed', at: clock.now(), ...(error !== undefined && { error }) } as const;
      await store.outbox.end(notice, outcome);
    });
  }

  /** Until the store takes it: a message that was sent must not be sent again. */
  async #write(change: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await change();
        this.#storeWorks();
        return;
      } catch (error) {
        this.#storeFailed('notification_state_not_stored', error);
        if (this.#stop.signal.aborted) return;
      }
      await this.#pause();
    }
  }

  /** Once, until it works again. */
  #storeFailed(event: string, error: unknown): void {
    if (!this.#storeFails) this.#parts.log.warn(event, { error: messageOf(error) });
    this.#storeFails = true;
  }

  #storeWorks(): void {
    this.#storeFails = false;
  }

  /** Before the store is tried again, or until this ends. */
  async #pause(): Promise<void> {
    const { signal } = this.#stop;
    await new Promise<void>((resolve) => {
      const over = (): void => {
        cancel();
        signal.removeEventListener('abort', over);
        resolve();
      };
      const cancel = this.#parts.clock.after(STORE_RETRY_MS, over);
      signal.addEventListener('abort', over, { once: true });
      if (signal.aborted) over();
    });
  }

  async #trim(): Promise<void> {
    const { store, clock, log, observed } = this.#parts;
    try {
      const dropped = await store.outbox.trim(clock.now(), this.#parts.most ?? MOST_NOTICES);
      for (const [target, count] of dropped) {
        observed.observer?.notificationSent(labelOf(target), 'dropped', count);
        log.error('notifications_dropped', {
          target: labelOf(target),
          count,
          fix: 'too many notifications are queued; is the target down?',
        });
        await countDropped(store, clock.now(), count);
      }
    } catch (error) {
      log.warn('notification_clean_up_failed', { error: messageOf(error) });
    }
  }
}

/** Notifications about a question end with it. */
function questionEnd({ subject, giveUpAt }: ClaimedNotice): number | undefined {
  return questionOf(subject) === undefined ? undefined : giveUpAt;
}
