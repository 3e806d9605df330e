/** Queues notifications. Nothing waits for it: what happens in one turn is written together, and again if the store fails. */

import type { NotedQuestion, NotedTask, Notifier } from '../core/notify/notifier.ts';
import { webhooksNotAllowed } from '../core/notify/session-notifier.ts';
import { countDropped } from '../core/notify/dropped.ts';
import type { Observed } from '../core/observer.ts';
import type { Outbox, QueuedNotice } from '../core/ports/outbox.ts';
import type { Store } from '../core/ports/store.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { sleep, within } from '../lib/timers.ts';
import type { Dispatcher } from './dispatcher.ts';
import { questionSubject, serverSubject } from './notification.ts';
import { labelOf, type Plan } from './plan.ts';
import type { TaskWebhooks } from './task-webhooks.ts';

/** How many wait for a store that cannot be written. */
const MOST_WAITING = 10_000;
const STORE_RETRY_MS = 1000;
/** From then on, those that have expired are forgotten. */
const MANY_OPEN = 1000;
/** How long the end of the program waits for the last write. */
const LAST_WRITE_MS = 1000;

export interface QueueingParts {
  outbox: Outbox;
  plan: Plan;
  dispatcher: Dispatcher;
  webhooks: TaskWebhooks | undefined;
  /** The open questions at this gateway that cause notifications. */
  open: NotifiedQuestions;
  counters: Pick<Store, 'addToCounter'>;
  clock: Clock;
  log: Log;
  observed: Observed;
}

export type NotifiedQuestions = Map<string, Pick<NotedQuestion, 'tool' | 'expiresAt'>>;

interface KnownServer {
  isDown: boolean;
  /** When its outage was last reported. */
  toldAt: number;
  /** When its last outage was due to be reported. */
  dueAt: number;
}

const NEVER_TOLD: KnownServer = { isDown: false, toldAt: -Infinity, dueAt: -Infinity };

export class QueueingNotifier implements Notifier {
  readonly #parts: QueueingParts;
  readonly #open: NotifiedQuestions;
  /** Whether servers are there, as far as they were lost or found in this run of the program. */
  readonly #servers = new Map<string, KnownServer>();
  #adding = new Map<string, QueuedNotice>();
  #dropping = new Set<string>();
  #writing: Promise<void> | undefined;
  #closed = false;
  #dropped = 0;

  constructor(parts: QueueingParts) {
    this.#parts = parts;
    this.#open = parts.open;
  }

  questionOpen(question: NotedQuestion): void {
    const { id, tool, expiresAt } = question;
    const known = this.#open.get(id);
    if (known !== undefined && known.tool === tool) return;
    const now = this.#parts.clock.now();
    this.#open.set(id, { tool, expiresAt });
    if (this.#open.size > MANY_OPEN) this.#forgetLeft(now);
    this.#add(this.#parts.plan.question(question, now));
  }

  questionEnded(id: string): void {
    if (this.#open.delete(id)) this.#drop(questionSubject(id));
  }

  /** Other gateways own questions that were open here, so their ends are not reported here. */
  #forgetLeft(now: number): void {
    for (const [id, { expiresAt }] of this.#open) if (expiresAt <= now) this.#open.delete(id);
  }

  taskEnded(task: NotedTask): void {
    this.#add(this.#parts.plan.task(task, this.#parts.clock.now()));
  }

  serverLost(server: string, principal: string, reason: string): void {
    const { plan, clock } = this.#parts;
    const subject = serverSubject(server, principal);
    const { isDown, toldAt } = this.#servers.get(subject) ?? NEVER_TOLD;
    // Each of its sessions loses the server.
    if (isDown) return;
    const now = clock.now();
    const dueAt = plan.serverDownAt(now, toldAt);
    this.#servers.set(subject, { isDown: true, toldAt, dueAt });
    this.#add(plan.serverDown(server, principal, reason, now, dueAt));
  }

  serverBack(server: string, principal: string): void {
    const subject = serverSubject(server, principal);
    const known = this.#servers.get(subject);
    if (known?.isDown === false) return;
    const { toldAt, dueAt } = known ?? NEVER_TOLD;
    // An outage that ended early was not reported, and does not delay the next one.
    this.#servers.set(subject, { isDown: false, toldAt: dueAt <= this.#parts.clock.now() ? dueAt : toldAt, dueAt });
    // Also what an earlier run has queued.
    this.#drop(subject);
  }

  webhook(given: unknown): string {
    const { webhooks } = this.#parts;
    if (webhooks === undefined) throw webhooksNotAllowed();
    return webhooks.check(given);
  }

  start(): void {
    this.#parts.dispatcher.start();
  }

  async close(): Promise<void> {
    const { clock, dispatcher } = this.#parts;
    await within(LAST_WRITE_MS, this.written(), clock);
    this.#closed = true;
    await dispatcher.close();
  }

  /** Resolves when everything so far is in the store. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #add(notices: readonly QueuedNotice[]): void {
    if (this.#closed || notices.length === 0) return;
    for (const notice of notices) {
      if (this.#adding.size < MOST_WAITING) this.#adding.set(notice.id, notice);
      else this.#dropOne(notice);
    }
    this.#schedule();
  }

  #dropOne({ target }: QueuedNotice): void {
    this.#dropped += 1;
    this.#parts.observed.observer?.notificationSent(labelOf(target), 'dropped', 1);
    if (this.#dropped === 1) this.#parts.log.warn('notifications_dropped', { waiting: this.#adding.size });
  }

  #drop(subject: string): void {
    if (this.#closed) return;
    for (const [id, notice] of this.#adding) if (notice.subject === subject) this.#adding.delete(id);
    this.#dropping.add(subject);
    this.#schedule();
  }

  #schedule(): void {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      // Since the last write.
      if (this.#isWaiting) this.#schedule();
    });
  }

  get #isWaiting(): boolean {
    return this.#adding.size + this.#dropping.size > 0 && !this.#closed;
  }

  async #write(): Promise<void> {
    const { outbox, counters, dispatcher, clock, log } = this.#parts;
    // After all that happens in this turn.
    await Promise.resolve();
    for (let failures = 0; this.#isWaiting;) {
      const [adding, dropping] = [this.#adding, this.#dropping];
      [this.#adding, this.#dropping] = [new Map(), new Set()];
      try {
        // In this order: a server may be lost again.
        await outbox.drop([...dropping]);
        await outbox.add([...adding.values()]);
        if (failures > 0) log.info('notifications_queued_again', { dropped: this.#dropped });
        if (this.#dropped > 0) await countDropped(counters, clock.now(), this.#dropped);
        [failures, this.#dropped] = [0, 0];
        dispatcher.wake();
      } catch (error) {
        failures += 1;
        if (failures === 1) log.warn('notifications_not_queued', { error: messageOf(error) });
        this.#putBack(adding, dropping);
        await sleep(STORE_RETRY_MS, clock);
      }
    }
  }

  /** Skips notifications whose subject has ended meanwhile. */
  #putBack(adding: ReadonlyMap<string, QueuedNotice>, dropping: ReadonlySet<string>): void {
    const still = [...adding].filter(([, { subject }]) => !this.#dropping.has(subject));
    this.#adding = new Map([...still, ...this.#adding]);
    this.#dropping = new Set([...dropping, ...this.#dropping]);
  }
}
