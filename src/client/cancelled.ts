import { unlessAborted } from '../lib/abort.ts';
import { TaskClientError } from './task-client-error.ts';

/** The value of the promise; rejects when the signal is aborted. */
export async function unlessCancelled<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return unlessAborted(promise, signal, () => new TaskClientError('cancelled', 'nobody waits for it any more'));
}
