/** What a test can see of a server that keeps tasks, and what it can do to it. */
export interface TasksState {
  /** What clients sent, in order: requests, notifications and answers. */
  readonly received: Received[];
  /** Labels of the tasks that were cancelled before their end. */
  readonly cancelled: string[];
  /** What went wrong without anybody to tell. */
  readonly errors: string[];
  /** How often tasks made from now on want to be asked about. */
  pollMs: number;
  /** Whether clients are told that a task changed. */
  notifies: boolean;
  /** Ends what is held, now and from now on. */
  release(): void;
  /** Forgets all tasks, as a server does that kept them in memory and died. */
  forget(): void;
}

export interface Received {
  readonly at: number;
  readonly message: Message;
}

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

export interface TasksOptions {
  readonly pollMs?: number;
  readonly notifies?: boolean;
  /** What RecordedLabels is for. */
  readonly cancelled?: string[];
}

export function basicState({ pollMs = 20, notifies = true, cancelled = [] }: TasksOptions = {}) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const received: Received[] = [];
  const errors: string[] = [];
  return { received, cancelled, errors, pollMs, notifies, released, release };
}

/** The requests of that method. */
export function requestsOf({ received }: TasksState, method: string): Message[] {
  return received.map(({ message }) => message).filter((message) => message.method === method);
}
