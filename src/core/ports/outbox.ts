/** The stored notifications. Every store implements it. */

/** A queued notification. */
export interface QueuedNotice {
  /** Derived from target, event and subject, so that it is queued only once. */
  id: string;
  target: string;
  /** The question, task or server it concerns. */
  subject: string;
  createdAt: number;
  /** When to send it. */
  dueAt: number;
  /** No retries after this time. */
  giveUpAt: number;
  /** How long it is remembered after its end, so that it is not queued again. */
  keepUntil: number;
  /** The number of attempts so far. */
  attempts: number;
  /** The message, as JSON. */
  data: string;
}

/** A notification claimed by this gateway; `claim` identifies the attempt. */
export interface ClaimedNotice extends QueuedNotice {
  claim: string;
  /** After this time another gateway may send it. */
  until: number;
}

export interface NoticeClaim {
  target: string;
  now: number;
  /** Until then no other gateway can claim them. */
  until: number;
  limit: number;
}

/** The state of a notification, without its message. */
export interface NoticeState extends Pick<
  QueuedNotice,
  'id' | 'target' | 'subject' | 'createdAt' | 'dueAt' | 'attempts'
> {
  state: 'waiting' | 'delivered' | 'failed';
  endedAt?: number;
  /** Why the last attempt failed. */
  error?: string;
}

/** The notification queue, shared by all gateways on a store. One gateway at a time sends a notification. */
export interface Outbox {
  /** Adds notifications with unknown ids. */
  add(notices: readonly QueuedNotice[]): Promise<void>;
  /** Removes queued notifications about these subjects. */
  drop(subjects: readonly string[]): Promise<void>;
  /** The targets with due notifications, and the time of the next one. */
  due(now: number): Promise<{ targets: string[]; nextAt?: number }>;
  /** Claims due notifications and counts the attempt. */
  claim(claim: NoticeClaim): Promise<ClaimedNotice[]>;
  /**
   * Releases the claims of dead gateways: an earlier process that used the file, or a gateway whose lease ended
   * more than `graceMs` ago.
   */
  reclaim(now: number, graceMs: number): Promise<void>;
  /** Schedules a retry at `dueAt`. No effect if another gateway has claimed it since. */
  postpone(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    next: { dueAt: number; attempts: number; error?: string },
  ): Promise<void>;
  /** Marks it as delivered, or as given up unless another gateway has claimed it since. Without `error`, its last error stays. */
  end(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    outcome: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void>;
  /** Queued and failed notifications, newest first. */
  list(limit: number): Promise<NoticeState[]>;
  /**
   * Deletes expired notifications, then the oldest beyond `most`, ended ones first. Resolves with the
   * number of unsent ones among them, by target.
   */
  trim(now: number, most: number): Promise<ReadonlyMap<string, number>>;
}
