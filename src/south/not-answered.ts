/**
 * The error code for a question without an answer, as the specification has it for a user who rejects. Not -32000, which peers
 * take for a closed connection.
 */
export const NOT_ANSWERED = -1;
