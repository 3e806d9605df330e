/** How long events that others have read are repeated to a reader that was not there at the time. */
const REPEAT_MS = 5 * 60_000;

/**
 * One of those who read the events of a session. Most sessions have a single reader. Where several programs or windows share
 * a session, each of them is a reader of its own, and gets every event.
 */
export class EventReader {
  /** It may have seen older events already, under an identity that is not known any more. */
  knownSince: number;
  /** Older events that others have read are repeated to it, but it does not stop waiting for them. */
  wakesFrom: number;
  /** Events from before this moment are not repeated to it. */
  repeatFrom: number;

  constructor(now: number) {
    this.knownSince = now;
    this.wakesFrom = now;
    this.repeatFrom = now - REPEAT_MS;
  }
}
