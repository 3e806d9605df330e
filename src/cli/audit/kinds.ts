/** The names of audit line kinds on the command line. */
export const AUDIT_KIND_NAMES = ['call', 'question', 'answer', 'approval', 'sign-in', 'server', 'gap'] as const;
