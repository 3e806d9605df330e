/** What is told to do about a limit of tasks, to somebody who has just these means for it. */
export interface TaskAdvice {
  /** No more calls are taken. */
  full: string;
  /** A task has had all of its time. */
  late: string;
}

export const HUB_ADVICE: TaskAdvice = {
  full: 'wait for one with await_activity or stop one with cancel_task',
  late: 'give more with task_ttl_ms, or set tasks.ttlMs and tasks.maxTtlMs',
};

/** To clients that have what the protocol has, which is not the same in all of its versions. */
export const PROTOCOL_ADVICE: TaskAdvice = {
  full: 'wait for one to end, or cancel one',
  late: 'give more where the call can say a TTL, or set tasks.ttlMs and tasks.maxTtlMs',
};
