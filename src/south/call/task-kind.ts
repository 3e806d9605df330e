import type { CallOutcome, ServerTask } from '../../core/ports/connection.ts';
import type { TaskResumePoint } from './resume-point.ts';

/** What differs between the generations of tasks. */
export interface TaskKind {
  /** Acts on the status of the task; returns the outcome once there is one. */
  act(task: ServerTask, raw: Record<string, unknown>): Promise<CallOutcome | undefined>;
  /** Settles when there is a reason to poll early. */
  readonly news: Promise<unknown> | undefined;
  /** Where a later run of the program can continue. */
  readonly checkpoint: TaskResumePoint;
  /** Releases whatever is still open. */
  stop(): void;
}
