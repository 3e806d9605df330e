/**
 * The task state machine. A task is a call that is tracked beyond the request that started it; every endpoint that
 * shows tasks reads this record, and only `transition` changes one.
 *
 *   working ⇄ input_required        while a question that certainly belongs to the task is open
 *   working | input_required → completed | failed | cancelled | expired
 *
 * A finished task never changes again, so of two competing ends exactly one wins. The clock of the task (its TTL)
 * pauses while any question is open that may block it, so that people have time to think.
 */

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled' | 'expired';

export interface TaskError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * Where a call continues after the loss of its connection or of this process: in a task that the server keeps, between two
 * rounds, or before it was approved. Only the code that runs calls, or asks for approvals, can read it.
 */
export interface ResumePoint {
  /** The version of the schema that the running code reads it with. */
  version: number;
  [field: string]: unknown;
}

/** The unmodified result of a tool call. */
export type CallResult = Record<string, unknown>;

/** What was called. */
export interface CallDescription {
  server: string;
  tool: string;
  args: Record<string, unknown>;
  /** The name of the client program that made the call, if known. */
  program?: string;
  /** The `traceparent` of the request that made the call. */
  trace?: string;
  /** The id of the call in the history. */
  callId?: string;
  /** The URL to call when the task has ended. */
  webhook?: string;
}

interface TaskFacts extends CallDescription {
  id: string;
  sessionId: string;
  statusMessage?: string;
  createdAt: number;
  updatedAt: number;
  ttlMs: number;
  /** The client knows the task, which is kept for its whole TTL, however soon it ends. */
  exposed?: boolean;
  /** The server runs it as its own task. */
  native?: boolean;
  /** Its client stopped waiting: an identical call of the same program may take it over. */
  abandoned?: boolean;
}

export interface WorkingTask extends TaskFacts {
  status: 'working' | 'input_required';
  /** When the TTL expires; absent while the clock is paused. */
  deadline?: number;
  /** The remaining TTL while the clock is paused. */
  remainingMs?: number;
  /** Where the call can continue after the loss of this process or its connection; absent if it cannot. */
  checkpoint?: ResumePoint;
  /** The call has not been sent to the server yet. */
  unsent?: boolean;
}

/** `keepUntil`: the moment until which the ended task stays readable. */
export type EndedTask = TaskFacts & { keepUntil: number } & (
    | { status: 'completed'; result: CallResult }
    | { status: 'failed' | 'expired'; error: TaskError }
    | { status: 'cancelled' }
  );

export type Task = WorkingTask | EndedTask;

export type TaskEvent =
  | { type: 'progress'; message: string }
  | { type: 'sent' }
  | { type: 'native' }
  | { type: 'exposed' }
  | { type: 'checkpoint'; checkpoint: ResumePoint | undefined }
  /** Whether a question is open that the task certainly or possibly waits for. */
  | { type: 'blocked'; by: 'certain' | 'possible' | undefined }
  | { type: 'complete'; result: CallResult }
  | { type: 'fail'; error: TaskError }
  /** The result, or the state to resume from, does not fit into memory. */
  | { type: 'no_room'; message: string }
  | { type: 'cancel'; reason: string }
  | { type: 'expire'; advice?: string };

/** The time of an event, and how long the task stays readable if it ends now. */
export interface Moment {
  now: number;
  keepMs: number;
}

export type NewTask = CallDescription &
  Pick<WorkingTask, 'id' | 'sessionId' | 'ttlMs' | 'exposed' | 'abandoned' | 'unsent'>;

export function createTask(from: NewTask, now: number): WorkingTask {
  return { ...from, status: 'working', createdAt: now, updatedAt: now, deadline: now + from.ttlMs };
}

export function hasEnded(task: Task): task is EndedTask {
  return task.status !== 'working' && task.status !== 'input_required';
}

/** Whether an open question may block the task, which pauses its clock. */
export function isBlocked(task: Task): boolean {
  return !hasEnded(task) && task.remainingMs !== undefined;
}

/** Whether the call returned a result that is not an error. */
export function hasSucceeded(task: Task): boolean {
  return task.status === 'completed' && task.result['isError'] !== true;
}

/** Why there is no result. */
export function errorOfTask(task: Task): TaskError | undefined {
  return task.status === 'failed' || task.status === 'expired' ? task.error : undefined;
}

/** The task after `event`; `undefined` if the transition is not allowed. */
export function transition(task: Task, event: TaskEvent, { now, keepMs }: Moment): Task | undefined {
  if (hasEnded(task)) return undefined;
  switch (event.type) {
    case 'progress':
      return { ...task, statusMessage: event.message, updatedAt: now };
    case 'sent': {
      const { unsent: _before, checkpoint: before, ...rest } = task;
      const checkpoint = afterSending(before);
      return { ...rest, ...(checkpoint && { checkpoint }) };
    }
    case 'native':
      return task.native ? undefined : { ...task, native: true };
    case 'exposed':
      return task.exposed ? undefined : { ...task, exposed: true };
    case 'checkpoint': {
      const { checkpoint: _before, ...rest } = task;
      return { ...rest, ...(event.checkpoint && { checkpoint: event.checkpoint }) };
    }
    case 'blocked': {
      const { deadline, remainingMs, ...rest } = task;
      const left = remainingMs ?? Math.max(0, (deadline ?? now) - now);
      const clock = event.by === undefined ? { deadline: now + left } : { remainingMs: left };
      return { ...rest, ...clock, status: event.by === 'certain' ? 'input_required' : 'working', updatedAt: now };
    }
    case 'complete':
      return { ...ended(task, now, keepMs), status: 'completed', result: event.result };
    case 'fail':
      return { ...ended(task, now, keepMs), status: 'failed', error: event.error };
    case 'no_room':
      return { ...ended(task, now, keepMs), status: 'failed', error: { code: -32000, message: event.message } };
    case 'cancel':
      return { ...ended(task, now, keepMs), status: 'cancelled', statusMessage: event.reason };
    case 'expire': {
      const advice = event.advice === undefined ? '' : `; ${event.advice}`;
      const error = { code: -32001, message: `the task exceeded its TTL of ${task.ttlMs} ms${advice}` };
      return { ...ended(task, now, keepMs), status: 'expired', error };
    }
  }
}

function ended(task: WorkingTask, now: number, keepMs: number): TaskFacts & { keepUntil: number } {
  const { deadline: _deadline, remainingMs: _remaining, checkpoint: _checkpoint, unsent: _unsent, ...facts } = task;
  const exposedUntil = task.exposed ? task.createdAt + task.ttlMs : 0;
  return { ...facts, updatedAt: now, keepUntil: Math.max(exposedUntil, now + keepMs) };
}

/** An approval or sign-in that a call waited for is consumed when the call is sent. */
export function afterSending(checkpoint: ResumePoint | undefined): ResumePoint | undefined {
  return waitsForPerson(checkpoint) ? undefined : checkpoint;
}

/** Whether the call waits for an approval or a sign-in and has not been sent. */
export function waitsForPerson(checkpoint: ResumePoint | undefined): checkpoint is ResumePoint {
  return checkpoint !== undefined && ('approval' in checkpoint || 'signIn' in checkpoint);
}
