import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lets everything happen that waits for no timer and no other program. */
export async function turn(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
