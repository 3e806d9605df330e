/** The limits for trimming a session, for every engine. */

/** The bytes kept of each kind, newest first; also the limit of a single record. */
export const SHARE = { events: 1 / 4, questions: 1 / 4, tasks: 1 / 2 };

export const TOO_LARGE = 'the task was too large to be restored (limits.sessionBytes)';

/** No character takes more bytes of UTF-8 for each of its UTF-16 units. */
export const BYTES_PER_UNIT = 3;
