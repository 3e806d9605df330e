import type { StoreError } from './store-error.ts';

/** Shared: a fast call must not allocate a promise. */
export const NOTHING_QUEUED: Promise<void> = Promise.resolve();

/** A promise that settles when changes are durable. */
export interface PendingCommit {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: StoreError) => void;
}

export function newPendingCommit(): PendingCommit {
  let resolve: PendingCommit['resolve'] = () => {};
  let reject: PendingCommit['reject'] = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Callers that await it get the error; an unobserved rejection must not crash the process. The error is logged.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
