/** For how long events read by others are repeated to a reader that was away. */
const REPEAT_MS = 5 * 60_000;

/**
 * A reader of the events of a session. Most sessions have a single reader. If several programs or windows share
 * a session, each is a separate reader and gets every event.
 */
export class EventReader {
  /** It may have seen older events under an earlier, unknown identity. */
  knownSince: number;
  /** Older events that others have read are repeated to it, but do not end its waiting. */
  wakesFrom: number;
  /** Events from before this moment are not repeated to it. */
  repeatFrom: number;
  /** The state of the log in which it had all events. */
  upToDateAt = -1;

  constructor(now: number) {
    this.knownSince = now;
    this.wakesFrom = now;
    this.repeatFrom = now - REPEAT_MS;
  }
}
