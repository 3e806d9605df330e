/** What may be put down to something that was done to the gateways or to their database. */
import type { Fault, FaultKind } from '../history.ts';

/** After these a session may be with another gateway, or with another run of its own. */
export const MOVES: readonly FaultKind[] = ['kill', 'pause', 'stop', 'partition', 'database restart', 'slow database'];

/** These end plain calls that are at work. A gateway that is asked to stop lets them end first. */
export const ENDS_CALLS: readonly FaultKind[] = ['kill', 'pause', 'partition', 'database restart', 'slow database'];

/** With these a gateway may be unable to store something. */
export const OF_THE_DATABASE: readonly FaultKind[] = ['partition', 'cut', 'database restart', 'slow database'];

export class Faults {
  readonly #all: readonly Fault[];

  constructor(all: readonly Fault[]) {
    this.#all = all;
  }

  /** Whether there was one between the two moments. */
  between(from: number, to: number, kinds?: readonly FaultKind[]): boolean {
    return this.#all.some(
      (fault) => fault.from <= to && fault.to >= from && (kinds === undefined || kinds.includes(fault.kind)),
    );
  }
}
