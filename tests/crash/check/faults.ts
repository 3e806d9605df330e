/** What may be put down to something that was done to the gateways or to their database. */
import type { Fault } from '../history.ts';

type Kinds = readonly Fault['kind'][];

/** After these a session may be with another gateway, or with another run of its own. */
export const MOVES: Kinds = ['kill', 'pause', 'stop', 'partition', 'database restart', 'slow database', 'lapse'];

/** These end plain calls that are at work. A gateway that is asked to stop lets them end first. */
export const ENDS_CALLS: Kinds = ['kill', 'pause', 'partition', 'database restart', 'slow database', 'lapse'];

/** With these a gateway may be unable to store something. */
export const OF_THE_DATABASE: Kinds = ['partition', 'cut', 'database restart', 'slow database', 'lapse'];

export class Faults {
  readonly #all: readonly Fault[];

  constructor(all: readonly Fault[]) {
    this.#all = all;
  }

  /** Whether there was one between the two moments. */
  between(from: number, to: number, kinds?: Kinds): boolean {
    return this.#all.some(
      (fault) => fault.from <= to && fault.to >= from && (kinds === undefined || kinds.includes(fault.kind)),
    );
  }
}
