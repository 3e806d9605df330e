/** Quotas per principal, across all gateways on a store. Exists only if the configuration has quotas. */

import type { Clock } from '../../lib/clock.ts';
import { compileWhom, factReader, type Whom } from '../access/whom.ts';
import { Budget } from '../budget.ts';
import { GatewayError } from '../errors.ts';
import type { Observed } from '../observer.ts';
import type { LimitUsage } from '../ports/cluster-store.ts';
import type { Identity, TokenFacts } from '../ports/identity.ts';
import { Quota } from '../shared-limit.ts';
import { RateWindow } from './rate-window.ts';
import { QUOTAS, type QuotaLimits, type QuotaName, type QuotaSettings } from './settings.ts';

/** The parts of the error for each quota. */
const WORDS: Record<QuotaName, { what: string; fix: string; retryAfterMs: number }> = {
  callsPerMinute: { what: 'calls of the last minute', fix: 'make fewer calls', retryAfterMs: 1000 },
  openCalls: { what: 'open calls', fix: 'wait for some to finish', retryAfterMs: 1000 },
  tasks: { what: 'running tasks', fix: 'wait for some to finish, or cancel some', retryAfterMs: 5000 },
  questions: { what: 'open questions', fix: 'answer some first', retryAfterMs: 5000 },
  sessions: { what: 'open sessions', fix: 'end one with DELETE', retryAfterMs: 10_000 },
  bytes: { what: 'bytes in memory', fix: 'wait for calls and tasks to finish', retryAfterMs: 5000 },
};

/** The prefix of quotas in the usage that gateways exchange. */
const PREFIX = 'quota:';

/** The limit on remembered principals without usage. */
const MAX_IDLE = 10_000;

interface QuotasParts {
  clock: Clock;
  observed: Observed;
  /** The memory budget of a principal within that of the gateway. */
  memoryOf: (principal: string) => Budget;
}

export class Quotas {
  readonly #parts: QuotasParts;
  readonly #everybody: QuotaLimits;
  readonly #overrides: readonly { isFor: Whom; limits: QuotaLimits }[];
  readonly #needsFacts: boolean;
  readonly #principals = new Map<string, PrincipalQuotas>();

  constructor({ overrides, ...everybody }: QuotaSettings, parts: QuotasParts) {
    this.#parts = parts;
    this.#everybody = everybody;
    this.#overrides = overrides.map((each) => ({ isFor: compileWhom(each), limits: each }));
    this.#needsFacts = factReader(overrides) !== undefined;
  }

  of(principal: string): PrincipalQuotas {
    const known = this.#principals.get(principal);
    if (known !== undefined) return known;
    if (this.#principals.size >= MAX_IDLE) this.#forgetIdle();
    const made = new PrincipalQuotas(principal, this.#limitsOf({ principal }), this.#parts);
    this.#principals.set(principal, made);
    return made;
  }

  /** The quotas for an identity: those of its token, which apply to the principal from now on. */
  for({ principal, facts }: Identity): PrincipalQuotas {
    const quotas = this.of(principal);
    if (this.#needsFacts && quotas.facts !== facts) {
      quotas.facts = facts;
      quotas.limits = this.#limitsOf({ principal, facts });
    }
    return quotas;
  }

  #limitsOf(identity: Identity): QuotaLimits {
    const own = this.#overrides.find(({ isFor }) => isFor(identity))?.limits ?? {};
    return Object.fromEntries(QUOTAS.map((name) => [name, own[name] ?? this.#everybody[name]]));
  }

  #forgetIdle(): void {
    for (const [principal, quotas] of this.#principals) if (quotas.isIdle) this.#principals.delete(principal);
  }

  /** The usage of this gateway, for the others on the same store. */
  get usage(): LimitUsage {
    const usage: LimitUsage = {};
    for (const [principal, quotas] of this.#principals) {
      for (const name of QUOTAS) {
        const used = quotas.limits[name] === undefined ? 0 : quotas.usedHere(name);
        if (used > 0) (usage[`${PREFIX}${name}`] ??= {})[principal] = used;
      }
    }
    return usage;
  }

  /** Adds the usage of other gateways, as of their last lease renewal. */
  noteElsewhere(others: readonly LimitUsage[]): void {
    for (const quotas of this.#principals.values()) quotas.elsewhere.clear();
    for (const name of QUOTAS) {
      for (const [principal, used] of others.flatMap((each) => Object.entries(each[`${PREFIX}${name}`] ?? {}))) {
        const { elsewhere } = this.of(principal);
        elsewhere.set(name, (elsewhere.get(name) ?? 0) + used);
      }
    }
  }
}

/** The limits and the usage of one principal. */
export class PrincipalQuotas {
  limits: QuotaLimits;
  /** The facts of the last token. */
  facts: TokenFacts | undefined;
  /** The usage of other gateways. */
  readonly elsewhere = new Map<QuotaName, number>();
  /** The memory of its sessions. */
  readonly memory: Budget;
  readonly #principal: string;
  readonly #clock: Clock;
  readonly #observed: Observed;
  readonly #used = new Map<QuotaName, number>();
  readonly #calls = new RateWindow();
  readonly #owner = {
    add: (name: QuotaName, count: number): void => this.#add(name, count),
    assertRoom: (name: QuotaName): void => this.assertRoom(name),
    onClosed: (): void => {},
  };

  constructor(principal: string, limits: QuotaLimits, { clock, observed, memoryOf }: QuotasParts) {
    this.#principal = principal;
    this.limits = limits;
    this.#clock = clock;
    this.#observed = observed;
    const room = (): number => (this.limits.bytes ?? Infinity) - (this.elsewhere.get('bytes') ?? 0);
    this.memory = new QuotaBudget(room, () => `quotas.bytes = ${this.limits.bytes}`, memoryOf(principal));
  }

  get isIdle(): boolean {
    const isUsed = QUOTAS.some((name) => this.usedHere(name) > 0);
    return !isUsed && this.elsewhere.size === 0;
  }

  usedHere(name: QuotaName): number {
    if (name === 'callsPerMinute') return this.#calls.sum(this.#clock.now());
    return name === 'bytes' ? this.memory.used : (this.#used.get(name) ?? 0);
  }

  /** Throws if there is no room for one more. */
  assertRoom(name: QuotaName): void {
    const limit = this.limits[name];
    if (limit === undefined) return;
    const used = this.usedHere(name) + (this.elsewhere.get(name) ?? 0);
    if (used >= limit) throw this.#exceeded(name, limit, used);
  }

  /** Throws if these bytes exceed the quota. */
  assertBytes(bytes: number): void {
    const { bytes: limit } = this.limits;
    const used = this.memory.used + (this.elsewhere.get('bytes') ?? 0);
    if (limit !== undefined && used + bytes > limit) throw this.#exceeded('bytes', limit, used);
  }

  /** Counts a request to a server as open until the returned function is called. Throws if a quota is exceeded. */
  beginCall(): () => void {
    this.assertRoom('openCalls');
    this.assertRoom('callsPerMinute');
    if (this.limits.callsPerMinute !== undefined) this.#calls.add(this.#clock.now());
    this.#add('openCalls', 1);
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#add('openCalls', -1);
    };
  }

  /** Opens a quota through which one session takes and gives back. */
  holder(name: QuotaName): Quota {
    return new Quota(this.#owner, name);
  }

  #add(name: QuotaName, count: number): void {
    this.#used.set(name, (this.#used.get(name) ?? 0) + count);
  }

  #exceeded(quota: QuotaName, limit: number, used: number): GatewayError {
    const { what, fix, retryAfterMs: usual } = WORDS[quota];
    const retryAfterMs =
      quota === 'callsPerMinute' ? this.#calls.untilGone(used - limit + 1, this.#clock.now()) : usual;
    this.#observed.observer?.quotaRefused(quota);
    const seconds = Math.ceil(retryAfterMs / 1000);
    const message = `'${this.#principal}' has ${used} ${what} (quotas.${quota} = ${limit}); ${fix}, and try again in ${seconds} s`;
    return new GatewayError('TOOL_ERR_LIMIT', message, { quota, limit, retryAfterMs });
  }
}

/** A memory budget whose limit may change. */
class QuotaBudget extends Budget {
  readonly #room: () => number;
  readonly #words: () => string;
  readonly #common: Budget;

  constructor(room: () => number, words: () => string, above: Budget) {
    super(Infinity, 'none', above);
    this.#room = room;
    this.#words = words;
    this.#common = above;
  }

  override get left(): number {
    return Math.min(this.#room() - this.used, this.#common.left);
  }

  override shortage(bytes: number): string {
    return this.used + bytes > this.#room() ? this.#words() : this.#common.shortage(bytes);
  }
}
