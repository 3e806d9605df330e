import { GatewayError } from './errors.ts';

/** The parts of the error when the limit is reached: "5 sessions are open (limit sessions.max = 5); end one". */
export interface LimitWords {
  things: string;
  /** Such as "are open". */
  state: string;
  setting: string;
  fix: string;
}

/** The principals that the config names. */
export interface Principals {
  names: readonly string[];
  /** The part of each limit, from 0 to 1, that is reserved for them in equal shares. */
  reserved: number;
}

interface Usage {
  /** At all gateways. */
  used: number;
  /** By other gateways on the same store. */
  elsewhere: number;
  /** The part that is reserved for the principal. */
  share: number;
  /** How many open quotas refer to it. */
  quotas: number;
}

/**
 * A limit of the whole gateway, or of all gateways on a store together. With several principals, each has a reserved share, so
 * that no principal can shut out another; the rest is first come, first served.
 */
export class SharedLimit {
  readonly #max: number;
  readonly #words: LimitWords;
  readonly #share: number;
  readonly #principals: ReadonlySet<string>;
  readonly #usage = new Map<string, Usage>();
  /** The part that is not reserved. */
  readonly #common: number;
  #commonUsed = 0;
  #used = 0;
  /** For all of its quotas: every session has some. */
  readonly #owner: QuotaOwner<Holder> = {
    add: ({ usage, own }, count) => {
      this.#add(usage, count);
      own?.add(count);
    },
    onClosed: ({ principal, usage, own }) => {
      own?.close();
      usage.quotas -= 1;
      this.#forgetUnused(principal, usage);
    },
    assertRoom: ({ principal, usage, own }) => {
      own?.assertRoom();
      if (usage.used >= usage.share && this.#commonUsed >= this.#common) throw this.#full(principal, usage);
    },
  };

  constructor(max: number, words: LimitWords, { names, reserved }: Principals) {
    this.#max = max;
    this.#words = words;
    this.#principals = new Set(names);
    this.#share = shareOf(max, names.length, reserved);
    this.#common = max - this.#share * names.length;
  }

  /** Throws if the principal may not have one more. */
  assertRoom(principal: string): void {
    const quota = this.quotaFor(principal);
    try {
      quota.assertRoom();
    } finally {
      quota.close();
    }
  }

  /** Opens a quota through which one session of a principal takes and gives back; `own` is the principal's own quota, if any. */
  quotaFor(principal: string, own?: Quota): Quota {
    const usage = this.#usageOf(principal);
    usage.quotas += 1;
    return new Quota(this.#owner, { principal, usage, own });
  }

  /** What is in use at this gateway, by principal. */
  get usedHere(): Record<string, number> {
    const counts = [...this.#usage].map(([principal, { used, elsewhere }]) => [principal, used - elsewhere] as const);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /** Sets the usage of other gateways by principal, replacing earlier values. */
  setElsewhere(counts: ReadonlyMap<string, number>): void {
    for (const principal of new Set([...this.#usage.keys(), ...counts.keys()])) {
      const usage = this.#usageOf(principal);
      const count = counts.get(principal) ?? 0;
      this.#add(usage, count - usage.elsewhere);
      usage.elsewhere = count;
      this.#forgetUnused(principal, usage);
    }
  }

  #usageOf(principal: string): Usage {
    const share = this.#principals.has(principal) ? this.#share : 0;
    const usage = this.#usage.get(principal) ?? { used: 0, elsewhere: 0, share, quotas: 0 };
    this.#usage.set(principal, usage);
    return usage;
  }

  /** Forgets unused principals, of which there may be very many over time. */
  #forgetUnused(principal: string, { used, quotas }: Usage): void {
    if (used === 0 && quotas === 0) this.#usage.delete(principal);
  }

  #add(usage: Usage, count: number): void {
    const before = Math.max(0, usage.used - usage.share);
    usage.used += count;
    this.#used += count;
    this.#commonUsed += Math.max(0, usage.used - usage.share) - before;
  }

  #full(principal: string, { used }: Usage): GatewayError {
    const { things, state, setting, fix } = this.#words;
    const limit =
      this.#used >= this.#max
        ? `${this.#used} ${things} ${state} (limit ${setting} = ${this.#max})`
        : `${used} ${things} of '${principal}' ${state}, and the rest of ${setting} = ${this.#max} is reserved for ` +
          'other principals (limits.principalShare)';
    return new GatewayError('TOOL_ERR_LIMIT', `${limit}; ${fix}`);
  }
}

/** Who has a quota in a limit. */
interface Holder {
  principal: string;
  usage: Usage;
  /** The principal's own quota, which counts too. */
  own: Quota | undefined;
}

interface QuotaOwner<H> {
  add(holder: H, count: number): void;
  assertRoom(holder: H): void;
  onClosed(holder: H): void;
}

/** The part of one session in a limit. */
export class Quota<H = unknown> {
  readonly #of: QuotaOwner<H>;
  readonly #holder: H;
  #held = 0;
  #closed = false;

  constructor(of: QuotaOwner<H>, holder: H) {
    this.#of = of;
    this.#holder = holder;
  }

  assertRoom(): void {
    this.#of.assertRoom(this.#holder);
  }

  /** Takes one even beyond the limit: callers that can refuse check first. */
  take(): void {
    this.add(1);
  }

  release(): void {
    this.add(-1);
  }

  /** Gives everything back and stops counting. */
  close(): void {
    if (this.#closed) return;
    this.add(-this.#held);
    this.#closed = true;
    this.#of.onClosed(this.#holder);
  }

  add(count: number): void {
    if (this.#closed) return;
    this.#held += count;
    this.#of.add(this.#holder, count);
  }
}

/** For tasks outside of a gateway. */
export function unlimitedQuota(): Quota {
  return new Quota({ add: () => {}, assertRoom: () => {}, onClosed: () => {} }, undefined);
}

/** At least one, if the limit is large enough. */
function shareOf(max: number, principals: number, reserved: number): number {
  if (principals < 2 || reserved === 0 || principals > max) return 0;
  return Math.max(1, Math.floor((max * reserved) / principals));
}
