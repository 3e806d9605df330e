import type { CallOutcome, ServerTask } from '../../core/ports.ts';
import type { TaskResumePoint } from './resume-point.ts';

/** What differs between the generations of tasks. */
export interface TaskKind {
  /** Does what the task's state asks for; tells the outcome once there is one. */
  act(task: ServerTask, raw: Record<string, unknown>): Promise<CallOutcome | undefined>;
  /** Settles when there is a reason to look before the next poll. */
  readonly news: Promise<unknown> | undefined;
  /** From where somebody else could go on with it. */
  readonly checkpoint: TaskResumePoint;
  /** Lets go of whatever is still open. */
  stop(): void;
}
