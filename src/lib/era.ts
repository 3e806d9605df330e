/** What people call the two generations of the protocol: with a session from `initialize` on, and without. */
export function eraOf({ sessions }: { sessions: boolean }): 'legacy' | 'modern' {
  return sessions ? 'legacy' : 'modern';
}
