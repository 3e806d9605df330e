/** The kinds of lines of the audit record, as they are typed. */
export const AUDIT_KIND_NAMES = ['call', 'question', 'answer', 'approval', 'sign-in', 'server', 'gap'] as const;
