import type { Clock } from '../../lib/clock.ts';

/** How soon to look again whether the doubt is over. */
const LOOK_MS = 50;

/**
 * A clock whose timers wait while it is in doubt whether the sessions are still this gateway's. After a pause of the program, many
 * things are due at once: a task is to expire, say, which another gateway has and lets wait for an answer.
 */
export function certainClock(clock: Clock, isInDoubt: () => boolean): Clock {
  return {
    now: () => clock.now(),
    after: (ms, callback, options) => {
      const ring = (): void => {
        if (isInDoubt()) cancel = clock.after(LOOK_MS, ring, options);
        else callback();
      };
      let cancel = clock.after(ms, ring, options);
      return () => cancel();
    },
  };
}
