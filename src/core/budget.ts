import type { Principals } from './shared-limit.ts';

/**
 * Counts the bytes kept in memory: call arguments, tasks, questions, events and recent server messages. Budgets are nested:
 * session, principal, gateway. Bytes taken from one are also taken from all budgets above it.
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

  /** The number of bytes that can still be taken. */
  get left(): number {
    return Math.min(this.#limit - this.#used, this.#above?.left ?? Infinity);
  }

  /** Takes the bytes; returns false, and takes nothing, if they do not fit. */
  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.add(bytes);
    return true;
  }

  /** Counts bytes that are kept even beyond the limit. */
  add(bytes: number): void {
    if (this.#closed) return;
    this.#used += bytes;
    this.#above?.add(bytes);
  }

  give(bytes: number): void {
    this.add(-bytes);
  }

  /** Gives everything back and stops counting. */
  close(): void {
    this.give(this.#used);
    this.#closed = true;
  }

  /** The limit that these bytes would exceed. */
  shortage(bytes: number): string {
    if (this.#above === undefined || this.#used + bytes > this.#limit) return `${this.#setting} = ${this.#limit}`;
    return this.#above.shortage(bytes);
  }
}

/** The budget of one principal: a reserved share, and beyond it whatever is left of the common budget. */
export class ShareBudget extends Budget {
  readonly #share: number;
  readonly #common: Budget;

  constructor(share: number, common: Budget) {
    super(Infinity, 'none');
    this.#share = share;
    this.#common = common;
  }

  override get left(): number {
    // Bytes that others took beyond the limit must not reduce this share.
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

export const UNLIMITED = new Budget(Infinity, 'none');
