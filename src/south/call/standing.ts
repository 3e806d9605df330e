import type { Round } from './rounds.ts';

/** Where a call stands: the server keeps it as a task, in a session of its own where it has such; or between two rounds. */
export type CallStanding = { task: { taskId: string; sessionId?: string } } | { round: Round };
