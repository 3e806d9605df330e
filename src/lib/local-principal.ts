/** The principal of a gateway without tokens, which only this machine can reach, of standard input, and of the launch key. */
export const LOCAL_PRINCIPAL = 'local';
