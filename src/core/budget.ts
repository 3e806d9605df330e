import type { Principals } from './shared-limit.ts';

/**
 * Counts the bytes that are kept in memory: arguments of calls, tasks, questions, events, and what servers said of late.
 * The budget of a session is a part of that of its principal, and this of that of the gateway: what is taken from one is
 * taken from all above it.
 */
export class Budget {
  #used = 0;
  #closed = false;
  readonly #limit: number;
  readonly #setting: string;
  readonly #above: Budget | undefined;

  /** `setting` names the limit in errors. */
  constructor(limit: number, setting: string, above?: Budget) {
    this.#limit = limit;
    this.#setting = setting;
    this.#above = above;
  }

  get used(): number {
    return this.#used;
  }

  /** How many bytes can still be taken. */
  get left(): number {
    return Math.min(this.#limit - this.#used, this.#above?.left ?? Infinity);
  }

  /** Takes so many bytes, or none and says false. */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.add(bytes);
    return true;
  }

  /** Counts what is kept in any case. */
  add(bytes: number): void {
    if (this.#closed) return;
    this.#used += bytes;
    this.#above?.add(bytes);
  }

  give(bytes: number): void {
    this.add(-bytes);
  }

  /** Gives everything back; from now on nothing is counted. */
  close(): void {
    this.give(this.#used);
    this.#closed = true;
  }

  /** Which limit stands in the way of so many bytes. */
  shortage(bytes: number): string {
    if (this.#above === undefined || this.#used + bytes > this.#limit) return `${this.#setting} = ${this.#limit}`;
    return this.#above.shortage(bytes);
  }
}

/** The budget of one principal: a share that nobody else can take, and beyond it whatever is left of the common budget. */
export class ShareBudget extends Budget {
  readonly #share: number;
  readonly #common: Budget;

  constructor(share: number, common: Budget) {
    super(Infinity, 'none');
    this.#share = share;
    this.#common = common;
  }

  override get left(): number {
    // What others took beyond the limit must not eat into this share.
    return Math.max(0, this.#share - this.used) + Math.max(0, this.#common.left);
  }

  override add(bytes: number): void {
    const before = Math.max(0, this.used - this.#share);
    super.add(bytes);
    this.#common.add(Math.max(0, this.used - this.#share) - before);
  }

  override shortage(bytes: number): string {
    return this.#common.shortage(bytes);
  }
}

/** A limit of the whole gateway. With several principals, each has a share of it. */
export class PrincipalBudgets {
  readonly #common: Budget;
  readonly #shares = new Map<string, Budget>();

  constructor(limit: number, setting: string, { names, reserved }: Principals) {
    const share = names.length < 2 ? 0 : Math.floor((limit * reserved) / names.length);
    this.#common = new Budget(limit - share * names.length, setting);
    for (const name of names) this.#shares.set(name, new ShareBudget(share, this.#common));
  }

  of(principal: string): Budget {
    return this.#shares.get(principal) ?? this.#common;
  }
}

/** For what is not limited. */
export const UNLIMITED = new Budget(Infinity, 'none');
