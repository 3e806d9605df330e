/** How the records of a session are made to fit, on every engine. */

/** So many bytes are kept of each kind, the newest first; a single record may take as much. */
export const SHARE = { events: 1 / 4, questions: 1 / 4, tasks: 1 / 2 };

export const TOO_LARGE = 'the task was too large to be restored (limits.sessionBytes)';

/** No character takes more bytes of UTF-8 for each of its UTF-16 units. */
export const BYTES_PER_UNIT = 3;
