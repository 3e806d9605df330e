/**
 * Records refused keys and tokens. Repeated attempts from one address get a line for the first, then one line per minute with their
 * count. The total is limited as well: attempts from many new addresses are counted together, without addresses. The record thus
 * misses no attempt and cannot be flooded.
 */

import type { Clock } from '../../lib/clock.ts';
import type { NewLine, SignInPlace } from './line.ts';

const TOGETHER_MS = 60_000;
/** How often attempts without their own lines are reported. */
const OTHERS_TOGETHER_MS = 5 * 60_000;
/** How many addresses get their own lines, in a burst and in the long run: about two megabytes of lines per day. */
const MOST_AT_ONCE = 100;
const ANOTHER_AFTER_MS = 60_000;

interface Counted {
  place: SignInPlace;
  address: string | undefined;
  count: number;
  from: number;
  to: number;
  cancel: () => void;
}

export class Refusals {
  readonly #clock: Clock;
  readonly #add: (line: NewLine) => void;
  readonly #counted = new Map<string, Counted>();
  /** How many more addresses may get their own lines, and when that was computed. */
  #left = MOST_AT_ONCE;
  #reckonedAt: number;

  constructor(clock: Clock, add: (line: NewLine) => void) {
    this.#clock = clock;
    this.#add = add;
    this.#reckonedAt = clock.now();
  }

  refused(place: SignInPlace, address: string | undefined): void {
    const now = this.#clock.now();
    const key = `${place} ${address ?? ''}`;
    const known = this.#counted.get(key);
    if (known !== undefined) count(known, now);
    else if (this.#hasLine(now)) {
      this.#add({ kind: 'sign_in', event: 'refused', at: now, place, ...(address !== undefined && { address }) });
      this.#begin(key, { place, address }, TOGETHER_MS);
    } else {
      // The name of a place alone never equals the key of an address.
      count(this.#counted.get(place) ?? this.#begin(place, { place, address: undefined }, OTHERS_TOGETHER_MS), now);
    }
  }

  #hasLine(now: number): boolean {
    // The clock may go back.
    const more = Math.max(0, now - this.#reckonedAt) / ANOTHER_AFTER_MS;
    this.#left = Math.min(MOST_AT_ONCE, this.#left + more);
    this.#reckonedAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  #begin(key: string, about: Pick<Counted, 'place' | 'address'>, ms: number): Counted {
    const cancel = this.#clock.after(ms, () => this.#tell(key), { unref: true });
    const counted = { ...about, count: 0, from: 0, to: 0, cancel };
    this.#counted.set(key, counted);
    return counted;
  }

  #tell(key: string): void {
    const counted = this.#counted.get(key);
    this.#counted.delete(key);
    if (counted === undefined || counted.count === 0) return;
    const { place, address, from, to } = counted;
    const where = { place, ...(address !== undefined && { address }) };
    this.#add({ kind: 'sign_in', event: 'refused', at: this.#clock.now(), ...where, count: counted.count, from, to });
  }

  /** Writes the lines for all counted attempts. */
  close(): void {
    for (const [key, { cancel }] of this.#counted) {
      cancel();
      this.#tell(key);
    }
  }
}

function count(counted: Counted, now: number): void {
  // If the clock goes back, the period must not end before it starts.
  counted.from = counted.count === 0 ? now : Math.min(counted.from, now);
  counted.to = counted.count === 0 ? now : Math.max(counted.to, now);
  counted.count += 1;
}
