/**
 * Keys and tokens that were refused. Somebody who tries many has a line for the first one, and then one a minute with their number: the
 * record neither misses an attempt nor is filled with them.
 */

import type { Clock } from '../../lib/clock.ts';
import type { NewLine, SignInPlace } from './line.ts';

const TOGETHER_MS = 60_000;
/** How many places and addresses are told apart. */
const MOST_SOURCES = 1000;

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

  constructor(clock: Clock, add: (line: NewLine) => void) {
    this.#clock = clock;
    this.#add = add;
  }

  refused(place: SignInPlace, from: string | undefined): void {
    const now = this.#clock.now();
    const known = `${place} ${from ?? ''}`;
    const isNew = !this.#counted.has(known);
    // Beyond so many, they are counted without their addresses.
    const key = isNew && this.#counted.size >= MOST_SOURCES ? place : known;
    const address = key === known ? from : undefined;
    const counted = this.#counted.get(key);
    if (counted === undefined) {
      this.#add({ kind: 'sign_in', event: 'refused', at: now, place, ...(address !== undefined && { address }) });
      const cancel = this.#clock.after(TOGETHER_MS, () => this.#tell(key), { unref: true });
      this.#counted.set(key, { place, address, count: 0, from: now, to: now, cancel });
      return;
    }
    if (counted.count === 0) counted.from = now;
    counted.count += 1;
    counted.to = now;
  }

  #tell(key: string): void {
    const counted = this.#counted.get(key);
    this.#counted.delete(key);
    if (counted === undefined || counted.count === 0) return;
    const { place, address, count, from, to } = counted;
    const where = { place, ...(address !== undefined && { address }) };
    this.#add({ kind: 'sign_in', event: 'refused', at: this.#clock.now(), ...where, count, from, to });
  }

  /** Tells of all that were counted. */
  close(): void {
    for (const [key, { cancel }] of this.#counted) {
      cancel();
      this.#tell(key);
    }
  }
}
