import { GatewayError } from './errors.ts';

/** What is said when there is no room: "5 sessions are open (limit sessions.max = 5); end one". */
export interface LimitWords {
  things: string;
  /** Such as "are open". */
  state: string;
  setting: string;
  fix: string;
}

/** Who uses the gateway, as far as that is known in advance. */
export interface Principals {
  names: readonly string[];
  /** The part of each limit, from 0 to 1, that is reserved for them in equal shares. */
  reserved: number;
}

interface Usage {
  /** Here and elsewhere. */
  used: number;
  /** By other gateways on the same store. */
  elsewhere: number;
  /** What nobody else can take. */
  share: number;
  /** How many open quotas use it. */
  quotas: number;
}

/**
 * A limit of the whole gateway, or of all gateways on a store together. With several principals, each has a share that nobody
 * else can take, so that each can always get in; the rest goes to whoever comes first.
 */
export class SharedLimit {
  readonly #max: number;
  readonly #words: LimitWords;
  readonly #share: number;
  readonly #principals: ReadonlySet<string>;
  readonly #usage = new Map<string, Usage>();
  /** What belongs to no share. */
  readonly #common: number;
  #commonUsed = 0;
  #used = 0;

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

  /** Where one session, or whoever else uses it for a principal, takes and gives back; `own`: from what the principal alone has, too. */
  quotaFor(principal: string, own?: Quota): Quota {
    const usage = this.#usageOf(principal);
    usage.quotas += 1;
    return new Quota({
      add: (count) => {
        this.#add(usage, count);
        own?.add(count);
      },
      onClosed: () => {
        own?.close();
        usage.quotas -= 1;
        this.#forgetUnused(principal, usage);
      },
      assertRoom: () => {
        own?.assertRoom();
        if (usage.used >= usage.share && this.#commonUsed >= this.#common) throw this.#full(principal, usage);
      },
    });
  }

  /** What is in use at this gateway, by principal. */
  get usedHere(): Record<string, number> {
    const counts = [...this.#usage].map(([principal, { used, elsewhere }]) => [principal, used - elsewhere] as const);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /** By principal; replaces what was said before. */
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

  /** There may be very many principals over time. */
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

interface QuotaOwner {
  add: (count: number) => void;
  assertRoom: () => void;
  onClosed: () => void;
}

/** One holder's part in a limit. */
export class Quota {
  readonly #of: QuotaOwner;
  #held = 0;
  #closed = false;

  constructor(of: QuotaOwner) {
    this.#of = of;
  }

  assertRoom(): void {
    this.#of.assertRoom();
  }

  /** Takes one, also where there is no room: whoever can refuse asks first. */
  take(): void {
    this.add(1);
  }

  release(): void {
    this.add(-1);
  }

  /** Gives everything back; from then on nothing counts. */
  close(): void {
    if (this.#closed) return;
    this.add(-this.#held);
    this.#closed = true;
    this.#of.onClosed();
  }

  add(count: number): void {
    if (this.#closed) return;
    this.#held += count;
    this.#of.add(count);
  }
}

/** For tasks that no gateway shares out. */
export function unlimitedQuota(): Quota {
  return new Quota({ add: () => {}, assertRoom: () => {}, onClosed: () => {} });
}

/** One at least, if there are enough for everyone. */
function shareOf(max: number, principals: number, reserved: number): number {
  if (principals < 2 || reserved === 0 || principals > max) return 0;
  return Math.max(1, Math.floor((max * reserved) / principals));
}
