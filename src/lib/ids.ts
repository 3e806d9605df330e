import { monotonicFactory, ulid } from 'ulid';

/** An id that opens something: time-sortable, but never to be guessed from an earlier one. */
export const secretId = (): string => ulid();

/** An id that orders: strictly increasing within the process, also within one millisecond. */
export const orderedId: () => string = monotonicFactory();
