/** The metrics of a gateway. Those that count begin when they are first asked for; the others are read from its state. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Gateway } from '../../core/gateway.ts';
import type { InteractionKind } from '../../core/interaction/interaction.ts';
import type { ObservedQuestion } from '../../core/observer.ts';
import type { ConnectionStatus } from '../../core/ports/connection.ts';
import type { Session } from '../../core/session/session.ts';
import type { EndedTask, TaskStatus } from '../../core/task/task.ts';
import { VERSION } from '../../lib/version.ts';
import { expose, Histogram, Scalar, type Family } from './exposition.ts';
import { errorLabel, methodLabel, outcomeLabel } from './labels.ts';

/** Those of the conventions, and more beyond: calls may take hours. */
const OPERATION_SECONDS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400,
];
/** How long tasks run, and people think. */
const LONG_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 43_200, 86_400, 604_800];
const COMMIT_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

const SESSIONS_PER_TURN = 500;

/** The label of all servers that clients added: their names are not the operator's. */
const ADDED = '(added)';

const TASK_STATUSES: readonly TaskStatus[] = [
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
  'expired',
];
const KINDS: readonly InteractionKind[] = ['elicitation', 'sampling', 'roots'];
const VIEWS: readonly Session['view']['kind'][] = ['hub', 'direct', 'group'];

export class Metrics {
  readonly #clientRequests = new Histogram(
    'mcp_server_operation_duration_seconds',
    'Requests from clients, until the reply.',
    OPERATION_SECONDS,
    ['mcp_method_name', 'error_type', 'view'],
  );
  readonly #serverRequests = new Histogram(
    'mcp_client_operation_duration_seconds',
    'Requests to servers; a tool call until its outcome, with its questions and as a task.',
    OPERATION_SECONDS,
    ['mcp_method_name', 'error_type', 'server'],
  );
  readonly #calls = counter('meanwhile_calls', 'Tool calls that have ended.', 'server', 'outcome');
  readonly #promoted = counter('meanwhile_calls_promoted', 'Tool calls that became tasks.', 'server', 'reason');
  readonly #tasks = new Histogram('meanwhile_task_duration_seconds', 'Tasks that have ended.', LONG_SECONDS, [
    'status',
  ]);
  readonly #questions = new Histogram(
    'meanwhile_question_wait_seconds',
    'Questions from servers, until they were answered or ended.',
    LONG_SECONDS,
    ['kind', 'outcome', 'via'],
  );
  readonly #commits = new Histogram(
    'meanwhile_store_commit_seconds',
    'Groups of changes that the store wrote.',
    COMMIT_SECONDS,
    ['outcome'],
  );
  readonly #forwarded = counter(
    'meanwhile_forwarded_requests',
    'Requests forwarded to the gateway that owns their session.',
    'outcome',
  );
  readonly #notifications = counter(
    'meanwhile_notifications',
    'Attempts to deliver notifications.',
    'target',
    'outcome',
  );
  readonly #refused = counter(
    'meanwhile_quota_refusals',
    'Requests and questions refused because of a quota.',
    'quota',
  );
  readonly #gateway: Gateway;
  /** The names of the servers in the config file. */
  readonly #configured: ReadonlySet<string>;

  constructor(gateway: Gateway, configured: ReadonlySet<string>) {
    this.#gateway = gateway;
    this.#configured = configured;
  }

  clientRequestEnded(seconds: number, method: string, view: string, errorType: string | undefined): void {
    this.#clientRequests.observe(seconds, methodLabel(method), errorLabel(errorType), view);
  }

  serverRequestEnded(seconds: number, method: string, server: string, errorType: string | undefined): void {
    const name = this.#serverLabel(server);
    this.#serverRequests.observe(seconds, methodLabel(method), errorLabel(errorType), name);
    if (method === 'tools/call') this.#calls.add(1, name, outcomeLabel(errorType));
  }

  callPromoted(server: string, reason: string): void {
    this.#promoted.add(1, this.#serverLabel(server), reason);
  }

  taskEnded({ status, createdAt, updatedAt }: EndedTask): void {
    this.#tasks.observe((updatedAt - createdAt) / 1000, status);
  }

  questionEnded({ kind, outcome, via, createdAt, endedAt }: ObservedQuestion): void {
    this.#questions.observe((endedAt - createdAt) / 1000, kind, outcome, via ?? 'nobody');
  }

  storeCommitted(seconds: number, outcome: string): void {
    this.#commits.observe(seconds, outcome);
  }

  requestForwarded(outcome: string): void {
    this.#forwarded.add(1, outcome);
  }

  notificationSent(target: string, outcome: string, count: number): void {
    this.#notifications.add(count, target, outcome);
  }

  quotaRefused(quota: string): void {
    this.#refused.add(1, quota);
  }

  /** All metrics as text. */
  async expose(): Promise<string> {
    const state = await this.#state();
    return expose([
      this.#clientRequests,
      this.#serverRequests,
      this.#calls,
      this.#promoted,
      this.#tasks,
      this.#questions,
      this.#commits,
      this.#forwarded,
      this.#notifications,
      this.#refused,
      ...state,
      ...processMetrics(),
    ]);
  }

  #serverLabel(server: string): string {
    return this.#configured.has(server) ? server : ADDED;
  }

  /** Read from the sessions on demand, without counters. */
  async #state(): Promise<Family[]> {
    const { sessions, store } = this.#gateway;
    const open = gauge('meanwhile_calls_open', 'Running tool calls, including tasks.', 'server');
    const tasks = gauge('meanwhile_tasks', 'Tasks in memory, including ended tasks that are still kept.', 'status');
    const questions = gauge('meanwhile_questions_open', 'Open questions from servers.', 'kind', 'server');
    const bySession = gauge('meanwhile_sessions', 'Sessions in memory.', 'view');
    const connections = gauge('meanwhile_server_connections', 'Connections to servers.', 'server', 'state');
    const up = gauge('meanwhile_server_up', 'Whether the server is connected; absent until a session tries.', 'server');
    for (const status of TASK_STATUSES) tasks.add(0, status);
    for (const view of VIEWS) bySession.add(0, view);
    for (const server of this.#configured) open.add(0, server);
    for (const [index, session] of sessions.entries()) {
      // Thousands of sessions must not delay calls.
      if (index % SESSIONS_PER_TURN === SESSIONS_PER_TURN - 1) await nextTurn();
      bySession.add(1, session.view.kind);
      for (const server of session.calls.servers) open.add(1, this.#serverLabel(server));
      for (const { status } of session.tasks.list()) tasks.add(1, status);
      this.#countQuestions(session, questions);
      for (const [name, { status }] of session.connections.all()) {
        const server = this.#serverLabel(name);
        connections.add(1, server, status.state);
        if (server !== ADDED && wasTried(status)) up.atLeast(status.state === 'connected' ? 1 : 0, server);
      }
    }
    const storeUp = gauge('meanwhile_store_up', 'Whether the store can take new tasks.');
    return [open, tasks, questions, bySession, connections, up, storeUp.add(store.problem === undefined ? 1 : 0)];
  }

  #countQuestions({ interactions }: Session, questions: Scalar): void {
    if (interactions.size === 0) return;
    for (const kind of KINDS) {
      for (const { server } of interactions.list(kind)) questions.add(1, kind, this.#serverLabel(server));
    }
  }
}

const wasTried = ({ state }: ConnectionStatus): boolean => state !== 'idle' && state !== 'connecting';

/** The names that all programs use. */
function processMetrics(): Family[] {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const build = new Scalar('meanwhile_build', 'The version of the program.', { type: 'info', labels: ['version'] });
  const cpu = new Scalar('process_cpu_seconds', 'Processor time used.', { type: 'counter', unit: 'seconds' });
  const memory = new Scalar('process_resident_memory_bytes', 'Memory of the process.', BYTES);
  const heap = new Scalar('nodejs_heap_size_used_bytes', 'Memory of JavaScript objects.', BYTES);
  const start = new Scalar('process_start_time_seconds', 'When the process started.', {
    type: 'gauge',
    unit: 'seconds',
  });
  return [
    build.add(1, VERSION),
    cpu.add((user + system) / 1e6),
    memory.add(rss),
    heap.add(heapUsed),
    start.add(Math.round(performance.timeOrigin) / 1000),
  ];
}

const BYTES = { type: 'gauge', unit: 'bytes' } as const;

function counter(name: string, help: string, ...labels: string[]): Scalar {
  return new Scalar(name, help, { type: 'counter', labels });
}

function gauge(name: string, help: string, ...labels: string[]): Scalar {
  return new Scalar(name, help, { type: 'gauge', labels });
}
