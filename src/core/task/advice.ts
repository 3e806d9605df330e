/** The advice in errors about task limits, which differs between kinds of clients. */
export interface TaskAdvice {
  /** New calls are refused. */
  full: string;
  /** A task has exceeded its TTL. */
  late: string;
}

export const HUB_ADVICE: TaskAdvice = {
  full: 'wait for one with await_activity or cancel one with cancel_task',
  late: 'set a longer task_ttl_ms, or raise tasks.ttlMs and tasks.maxTtlMs',
};

/** For native clients, whose options depend on the protocol version. */
export const PROTOCOL_ADVICE: TaskAdvice = {
  full: 'wait for one to finish, or cancel one',
  late: 'request a longer TTL where the protocol allows it, or raise tasks.ttlMs and tasks.maxTtlMs',
};
