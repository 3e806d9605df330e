import { InMemoryTaskMessageQueue } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { basicState, type TasksOptions, type TasksState } from '../tasks/state.ts';
import { KeptTasks } from './store.ts';

/** Outlives the listener and the sessions of a server, if the test wants it to. */
export interface TasksV1State extends TasksState {
  readonly store: KeptTasks;
  readonly queue: InMemoryTaskMessageQueue;
  readonly released: Promise<void>;
  /** The work of each task that has not ended. */
  readonly working: Map<string, { label: string; over: AbortController }>;
  readonly sessions: Sessions;
}

export function newTasksV1State(options?: TasksOptions): TasksV1State {
  const basic = basicState(options);
  const working: TasksV1State['working'] = new Map();
  const store = new KeptTasks((taskId) => {
    const work = working.get(taskId);
    if (work === undefined) return;
    basic.cancelled.push(work.label);
    work.over.abort();
  });
  return {
    ...basic,
    store,
    queue: new InMemoryTaskMessageQueue(),
    working,
    sessions: new Sessions(),
    forget() {
      for (const { over } of working.values()) over.abort();
      store.clear();
    },
  };
}

/** The clients that are there. */
export class Sessions {
  readonly #servers = new Set<Server>();
  readonly #opened = new EventTarget();

  add(server: Server): void {
    this.#servers.add(server);
    this.#opened.dispatchEvent(new Event('opened'));
  }

  delete(server: Server): void {
    this.#servers.delete(server);
  }

  /** That one if it is still there, or else the newest one. */
  find(wanted: Server): Server | undefined {
    return this.#servers.has(wanted) ? wanted : [...this.#servers].at(-1);
  }

  /** The same, after waiting for one if need be. */
  async meet(wanted: Server, signal: AbortSignal): Promise<Server> {
    for (;;) {
      const found = this.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve, reject) => {
        this.#opened.addEventListener('opened', () => resolve(), { once: true, signal });
        signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true });
      });
    }
  }
}
