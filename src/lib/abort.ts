/** Acts when the signal is aborted, at once if it is already; the returned function prevents it. */
export function whenAborted(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal?.aborted) act();
  else signal?.addEventListener('abort', act, { once: true });
  return () => signal?.removeEventListener('abort', act);
}

/** The value of the promise; rejects if the signal is aborted first. The work behind the promise goes on. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  why: () => Error,
): Promise<T> {
  let forget = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    forget = whenAborted(signal, () => reject(why()));
  });
  return Promise.race([promise, aborted]).finally(forget);
}
