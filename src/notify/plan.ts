/** Decides which targets are notified of what, and when. */

import type { NotedQuestion, NotedTask } from '../core/notify/notifier.ts';
import type { QueuedNotice } from '../core/ports/outbox.ts';
import { parseExact, stringifyExact } from '../lib/exact-json.ts';
import { compileGlob } from '../lib/pattern.ts';
import { redactSecrets } from '../lib/redact.ts';
import { shortenText, shortenValue } from '../lib/shorten.ts';
import { noticeId, questionSubject, serverSubject, taskSubject, type Notification } from './notification.ts';
import { afterQuietHours } from './quiet-hours.ts';
import type { NotifySettings, TargetSettings } from './settings.ts';

/** How long an ended notification is remembered, so that it is not queued again. */
const KEEP_MS = 24 * 3_600_000;
/** Repeated outages of a server are reported once in this time. */
const SAME_LOSS_MS = 10 * 60_000;
const MESSAGE_CHARS = 1000;
const ARGUMENT_BYTES = 4096;

/** The targets of webhooks that belong to tasks begin with this, which no name of a target does. */
export const TASK_WEBHOOK = 'webhook:';

/** The name in metrics and logs, where URLs from clients must not be labels. */
export const labelOf = (target: string): string => (target.startsWith(TASK_WEBHOOK) ? '(task webhook)' : target);

/** Something to be told, before it is known to whom. */
interface Happening {
  notification: Notification;
  subject: string;
  /** When a target is notified. */
  dueAt: (target: TargetSettings) => number;
  /** It is of no use after that. */
  endsAt?: number;
  keepUntil?: number;
  /** Whether it waits for an answer. */
  escalates: boolean;
  message?: string | undefined;
  args?: Record<string, unknown> | undefined;
}

type Selects = (about: Notification) => boolean;

export class Plan {
  readonly #settings: NotifySettings;
  readonly #selects: ReadonlyMap<string, Selects>;

  constructor(settings: NotifySettings) {
    this.#settings = settings;
    this.#selects = new Map(Object.entries(settings.targets).map(([name, target]) => [name, selector(target)]));
  }

  question(question: NotedQuestion, now: number): QueuedNotice[] {
    const { id, kind, mode, server, tool, principal, sessionId, createdAt, expiresAt, message, args, signInUrl } =
      question;
    const { expiringMs } = this.#settings;
    const about = {
      principal,
      server,
      tool,
      question: { id, kind, mode, sessionId, expiresAt, ...(signInUrl !== undefined && { signInUrl }) },
    };
    const base = { subject: questionSubject(id), endsAt: expiresAt, message, args };
    const opened = (target: TargetSettings): number => createdAt + target.afterMs;
    const expiring = Math.max(createdAt, expiresAt - expiringMs);
    return [
      ...this.#notices(
        { ...base, notification: { event: 'question', at: createdAt, ...about }, dueAt: opened, escalates: true },
        now,
      ),
      ...this.#notices(
        {
          ...base,
          notification: { event: 'expiring', at: expiring, ...about },
          dueAt: () => expiring,
          escalates: false,
        },
        now,
        // The question itself is reported even later.
        (target) => target.events.includes('question') && opened(target) >= expiring,
      ),
    ];
  }

  task({ task, principal }: NotedTask, now: number): QueuedNotice[] {
    const { id, callId, server, tool, args, status, updatedAt, keepUntil, webhook } = task;
    const message = 'error' in task ? task.error.message : task.statusMessage;
    const notification: Notification = {
      event: 'task',
      at: updatedAt,
      principal,
      server,
      tool,
      task: { id, callId, status },
    };
    const subject = taskSubject(id);
    const happening = { notification, subject, dueAt: () => updatedAt, keepUntil, escalates: false, message, args };
    const notices = this.#notices(happening, now);
    if (webhook === undefined || this.#settings.taskWebhooks === undefined) return notices;
    // Each origin is a separate target, so that a hanging one does not delay the others.
    const target = TASK_WEBHOOK + new URL(webhook).origin;
    return [...notices, this.#notice(happening, target, { ...notification, webhook }, updatedAt, now)];
  }

  /** When an outage that starts now is reported; `toldAt`: when the last outage was reported. */
  serverDownAt(now: number, toldAt: number): number {
    return Math.max(now + this.#settings.serverDownMs, toldAt + SAME_LOSS_MS);
  }

  serverDown(server: string, principal: string, reason: string, now: number, dueAt: number): QueuedNotice[] {
    // Gateways that lose a server at about the same time report it once. A later outage falls into a later time slot.
    const key = Math.floor(dueAt / SAME_LOSS_MS);
    const notification: Notification = { event: 'server', at: now, principal, server, key };
    const subject = serverSubject(server, principal);
    return this.#notices({ notification, subject, dueAt: () => dueAt, escalates: false, message: reason }, now);
  }

  /** The escalation of an undelivered notification to another target, if that may receive it. */
  handOver(notice: QueuedNotice, to: string, now: number): QueuedNotice | undefined {
    const target = this.#settings.targets[to];
    const { message, arguments: args, ...about } = parseExact(notice.data) as Notification;
    if (target === undefined || !this.#isFor(to, about)) return undefined;
    const { include } = target;
    const notification: Notification = {
      ...about,
      ...(include.includes('message') && message !== undefined && { message }),
      ...(include.includes('arguments') && args !== undefined && { arguments: args }),
    };
    const dueAt = afterQuietHours(target.quietHours, now);
    const giveUpAt = about.question?.expiresAt ?? now + this.#settings.giveUpMs;
    const { subject, createdAt, keepUntil } = notice;
    const id = idOf(to, subject, about);
    const data = stringifyExact(notification);
    return { id, target: to, subject, createdAt, dueAt, giveUpAt, keepUntil, attempts: 0, data };
  }

  #isFor(name: string, about: Notification): boolean {
    return this.#selects.get(name)?.(about) ?? false;
  }

  #notices(happening: Happening, now: number, isNeedless?: (target: TargetSettings) => boolean): QueuedNotice[] {
    const { notification, escalates } = happening;
    const found = new Map<string, QueuedNotice>();
    const add = (name: string, dueAt: number): void => {
      const target = this.#settings.targets[name];
      const known = found.get(name);
      if (target === undefined || (known !== undefined && known.dueAt <= dueAt)) return;
      // An escalation target also receives only its configured events.
      if (!this.#isFor(name, notification)) return;
      const notice = this.#notice(
        happening,
        name,
        told(happening, target),
        afterQuietHours(target.quietHours, dueAt),
        now,
      );
      found.set(name, notice);
      if (escalates && target.escalate) add(target.escalate.to, notice.dueAt + target.escalate.afterMs);
    };
    for (const [name, target] of Object.entries(this.#settings.targets)) {
      if (target.events.includes(notification.event) && !isNeedless?.(target)) add(name, happening.dueAt(target));
    }
    // A notification that would be too late is not sent.
    return [...found.values()].filter(({ dueAt }) => dueAt < (happening.endsAt ?? Infinity));
  }

  #notice(
    { subject, endsAt, keepUntil = 0 }: Happening,
    target: string,
    notification: Notification,
    dueAt: number,
    now: number,
  ): QueuedNotice {
    const giveUpAt = endsAt ?? Math.max(dueAt, now) + this.#settings.giveUpMs;
    return {
      id: idOf(target, subject, notification),
      target,
      subject,
      createdAt: now,
      dueAt,
      giveUpAt,
      keepUntil: Math.max(keepUntil, giveUpAt) + KEEP_MS,
      attempts: 0,
      data: stringifyExact(notification),
    };
  }
}

function idOf(target: string, subject: string, { event, key }: Notification): string {
  return noticeId(target, event, subject, ...(key === undefined ? [] : [key]));
}

/** With no more than the target may be told. */
function told({ notification, message, args }: Happening, { include }: TargetSettings): Notification {
  return {
    ...notification,
    ...(include.includes('message') && message !== undefined && { message: shortenText(message, MESSAGE_CHARS) }),
    ...(include.includes('arguments') &&
      args !== undefined && { arguments: shortenValue(redactSecrets(args), ARGUMENT_BYTES) }),
  };
}

function selector({ principals, servers, tools }: TargetSettings): Selects {
  const [isPrincipal, isServer, isTool] = [anyOf(principals), anyOf(servers), anyOf(tools)];
  // A server that is down concerns all its tools.
  return ({ event, principal, server, tool = '' }) =>
    isPrincipal(principal) && isServer(server) && (event === 'server' || isTool(tool));
}

function anyOf(patterns: readonly string[] | undefined): (name: string) => boolean {
  if (patterns === undefined) return () => true;
  const compiled = patterns.map((pattern) => compileGlob(pattern));
  return (name) => compiled.some((matches) => matches(name));
}
