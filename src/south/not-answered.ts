/**
 * There is no answer to a server's question: the code that the specification has for a person who refuses. Not -32000, which
 * peers take for a closed connection.
 */
export const NOT_ANSWERED = -1;
