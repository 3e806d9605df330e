/** One timer for everything on the page that shows how much time has passed. */

import { useEffect, useReducer } from 'preact/hooks';

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

export function onTick(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.visibilityState === 'visible') for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Renders the component again every `seconds` seconds, while `active`. */
export function useTick(seconds = 1, active = true): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!active) return;
    let passed = 0;
    return onTick(() => {
      passed += 1;
      if (passed % seconds === 0) again(undefined);
    });
  }, [seconds, active]);
}
