/** The name of the state in which a person tries tools. */
export const CONSOLE_STATE = 'console';
