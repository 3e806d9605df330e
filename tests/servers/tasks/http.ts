import type { TasksOptions, TasksState } from './state.ts';

export interface TasksHttpOptions<State extends TasksState> extends TasksOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** The tasks of a server that was stopped: this one goes on with them. */
  readonly state?: State;
}

/** A server that keeps tasks, over HTTP. */
export interface TasksHttp<State extends TasksState> {
  readonly url: string;
  readonly port: number;
  readonly state: State;
  /** Ends it and all its tasks. */
  close(): Promise<void>;
  /** Ends it, but not its tasks: the work goes on, and another server may be started with the state. */
  stop(): Promise<void>;
  /** Destroys all open sockets. Sessions stay known. */
  breakStreams(): void;
}
