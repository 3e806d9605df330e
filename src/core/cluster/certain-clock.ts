import type { Clock } from '../../lib/clock.ts';

/** How often to check whether ownership is certain again. */
const LOOK_MS = 50;

/**
 * A clock whose timers wait while it is uncertain whether this gateway still owns its sessions. After a pause of the process, many
 * timers are due at once: for example, a task would expire that another gateway now owns and that waits for an answer.
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
