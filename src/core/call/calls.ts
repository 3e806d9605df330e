import { WEBHOOK_META } from '../../lib/meta.ts';
import { isDeepStrictEqual } from 'node:util';
import { secretId } from '../../lib/ids.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { INVALID_PARAMS } from '../../lib/rpc-error.ts';
import { shortenText } from '../../lib/shorten.ts';
import { traceparentIn } from '../../lib/trace-context.ts';
import type { Clock } from '../../lib/clock.ts';
import type { InFlight } from '../../lib/in-flight.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import { UNLIMITED, type Budget } from '../budget.ts';
import { GatewayError, shuttingDown } from '../errors.ts';
import {
  LEAVE_RUNNING,
  type CallOutcome,
  type Connection,
  type OutgoingCall,
  type Progress,
  type ServerTask,
} from '../ports/connection.ts';
import type { SessionStore } from '../ports/store.ts';
import { webhooksNotAllowed, type SessionNotifier } from '../notify/session-notifier.ts';
import type { Observed } from '../observer.ts';
import type { PrincipalQuotas } from '../quota/quotas.ts';
import type { SessionListener } from '../session/session-listener.ts';
import type { CoreSettings } from '../settings.ts';
import type { TaskBook } from '../task/book.ts';
import {
  afterSending,
  hasEnded,
  waitsForPerson,
  type CallResult,
  type Task,
  type TaskEvent,
  type WorkingTask,
  type ResumePoint,
} from '../task/task.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { PolicyGate } from '../policy/policy-gate.ts';
import { needsSignIn, type SignInGate } from '../sign-in/sign-in-gate.ts';
import { readSignInPoint, signInPoint } from '../sign-in/point.ts';
import type { Unregister } from '../interaction/responders.ts';
import { LiveCall, type CallOwner } from './live-call.ts';
import { replyFor, taskEnd, withinLimit } from './outcome.ts';
import { requestFrom } from './stored-request.ts';
import {
  cancelledByClient,
  isAskedFirst,
  type Because,
  type Caller,
  type CallMade,
  type CallReply,
  type CallRequest,
  type Ending,
} from './request.ts';

export interface CallsParts {
  /** The calls that are open; the interaction router reads them. */
  live: InFlight<string, LiveCall>;
  tasks: TaskBook;
  interactions: InteractionRouter;
  store: SessionStore;
  settings: CoreSettings;
  log: Log;
  budget?: Budget;
  observed?: Observed;
  /** Absent without history and audit record. */
  recorder?: SessionListener | undefined;
  /** Absent without notification targets. */
  notifier?: SessionNotifier | undefined;
  /** Absent without rules. */
  gate?: PolicyGate | undefined;
  /** Whether its client may use a tool; absent without access rules. */
  mayCall?: ((server: string, tool: string) => boolean) | undefined;
  /** What its principal may use; absent without quotas. */
  quotas?: PrincipalQuotas | undefined;
  /** Absent if servers are used without accounts. */
  signIns?: SignInGate | undefined;
  clock: Clock;
}

/**
 * The calls of one session. A call answers its request with whatever happens first: its outcome, the timeout of the
 * request, a question that certainly belongs to it, or the departure of the client. In all cases but the first the call
 * continues as a task.
 */
export class Calls implements CallOwner {
  readonly #live: InFlight<string, LiveCall>;
  readonly #progressOf = new LazyMap<string, Set<(progress: Progress) => void>>();
  #closed = false;
  #left = false;
  readonly #tasks: TaskBook;
  readonly #interactions: InteractionRouter;
  readonly #budget: Budget;
  readonly #resultBytes: number;
  /** The TTL requested for server tasks: as long as our task may take, including a question and the retrieval of the result. */
  readonly #remoteTtlMs: number;
  readonly #store: SessionStore;
  readonly #log: Log;
  readonly #observed: Observed;
  readonly #recorder: SessionListener | undefined;
  readonly #notifier: SessionNotifier | undefined;
  readonly #gate: PolicyGate | undefined;
  readonly #mayCall: CallsParts['mayCall'];
  readonly #quotas: PrincipalQuotas | undefined;
  readonly #signIns: SignInGate | undefined;
  readonly #clock: Clock;

  constructor(parts: CallsParts) {
    const { live, tasks, interactions, store, settings, log, budget = UNLIMITED, observed = {}, clock } = parts;
    this.#live = live;
    this.#observed = observed;
    this.#recorder = parts.recorder;
    this.#notifier = parts.notifier;
    this.#gate = parts.gate;
    this.#mayCall = parts.mayCall;
    this.#quotas = parts.quotas;
    this.#signIns = parts.signIns;
    this.#budget = budget;
    this.#tasks = tasks;
    this.#store = store;
    this.#interactions = interactions;
    this.#resultBytes = settings.limits.resultBytes;
    this.#remoteTtlMs = settings.tasks.maxTtlMs + settings.questions.timeoutMs + settings.tasks.keepMs;
    this.#log = log;
    this.#clock = clock;
    tasks.watch((task, event) => {
      // All other ends of a task have already stopped the call, or let it finish.
      if (event?.type === 'expire') this.#stop(task, new Error('the task expired'));
      if (event?.type === 'no_room') this.#stop(task, new Error(event.message));
      if (!hasEnded(task) || event === undefined || this.#left) return;
      this.#recorder?.taskEnded(task);
      this.#notifier?.taskEnded(task);
    });
  }

  execute(connection: Connection, given: CallRequest, caller: Caller): Promise<CallReply> {
    return new Promise((resolve) => {
      this.#tasks.assertRoom();
      const request = given.meta?.[WEBHOOK_META] === undefined ? given : this.#withWebhook(given, given.meta);
      const bytes = this.#takeRoom(request);
      const endCall = this.#beginCall(bytes);
      let stopTimer = (): void => {};
      let stopListening = (): void => {};
      let unregister: Unregister = () => {};
      const onAnswer = (reply: CallReply): void => {
        endCall?.();
        if (reply.kind !== 'task' && !this.#left) this.#recorder?.callEnded(call, reply);
        stopTimer();
        stopListening();
        // A client that is still connected also answers questions that another of its calls may have asked.
        unregister({ handOver: reply.kind !== 'cancelled' && !(reply.kind === 'task' && reply.because === 'gone') });
        resolve(reply);
      };
      const startedAt = this.#clock.now();
      const call = new LiveCall({
        id: request.id ?? secretId(),
        owner: this,
        request,
        startedAt,
        bytes,
        caller,
        onAnswer,
      });
      const { timeoutMs } = request;
      if (timeoutMs !== Infinity) stopTimer = this.#clock.after(timeoutMs, () => call.promote('timeout'));
      this.#live.add(call.id, call);
      this.#recorder?.callBegan(call);
      this.#interactions.serverUsed(request.server);
      if (caller.responder) unregister = this.#interactions.register({ callId: call.id }, caller.responder);
      const { server, tool, args } = request;
      this.#log.debug('tool_execution_start', { server, tool, hasArgs: Object.keys(args).length > 0 });
      stopListening = caller.onLeaving((leaving, words) => {
        if (leaving === 'gone') call.promote('gone');
        else this.#cancelRequest(call, cancelledByClient(words));
      });
      if (request.asTask) call.promote('asked');
      // Last, because it may send the call immediately: a task must be stored before, and a cancelled call must not be sent.
      void this.#run(call, connection);
    });
  }

  /** The URL is for the gateway only and is not forwarded to the server. */
  #withWebhook(request: CallRequest, { [WEBHOOK_META]: url, ...meta }: Record<string, unknown>): CallRequest {
    if (this.#notifier === undefined) throw webhooksNotAllowed();
    return { ...request, meta, webhook: this.#notifier.webhook(url) };
  }

  #start(call: LiveCall, connection: Connection, outgoing: OutgoingCall): Promise<CallOutcome> {
    if (this.#isHidden(call.request)) return Promise.resolve(unknownTool(call.request));
    if (this.#gate === undefined) return connection.call(outgoing);
    const send = (): Promise<CallOutcome> => connection.call(outgoing);
    return this.#gate.pass(call, { keep: (point) => this.#keep(call, point), send });
  }

  /** Stores what is needed to resume a call that waits for a person. */
  #keep(call: LiveCall, checkpoint: ResumePoint): void {
    call.checkpoint = checkpoint;
    if (call.taskId !== undefined) this.#tasks.apply(call.taskId, { type: 'checkpoint', checkpoint });
  }

  /** The server refused the call, or access to the task it keeps for it: nothing was processed. */
  #afterSignIn(
    call: LiveCall,
    connection: Connection,
    outgoing: OutgoingCall,
    [signIns, refused]: [SignInGate, Parameters<SignInGate['pass']>[1]],
  ): Promise<CallOutcome> {
    const isKept = (): boolean => call.checkpoint !== undefined && !waitsForPerson(call.checkpoint);
    return signIns.pass(call, refused, {
      keep: () => {
        if (isKept()) return;
        call.sent = false;
        this.#keep(call, signInPoint(call));
      },
      goOn: () =>
        call.checkpoint !== undefined && isKept()
          ? connection.resume(call.checkpoint, outgoing)
          : connection.call(outgoing),
    });
  }

  /** Counts the call as open until its request is answered. */
  #beginCall(bytes: number): (() => void) | undefined {
    try {
      return this.#quotas?.beginCall();
    } catch (error) {
      this.#budget.give(bytes);
      throw error;
    }
  }

  #isHidden({ server, tool }: Pick<CallRequest, 'server' | 'tool'>): boolean {
    return this.#mayCall !== undefined && !this.#mayCall(server, tool);
  }

  /** Reserves memory for the arguments; throws if there is none. */
  #takeRoom({ args, meta, more }: CallRequest): number {
    const bytes = roughSize([args, meta, more], Infinity);
    this.#quotas?.assertBytes(bytes);
    if (this.#budget.take(bytes)) return bytes;
    throw new GatewayError(
      'TOOL_ERR_LIMIT',
      `no memory left for arguments of ${bytes} bytes (${this.#budget.shortage(bytes)}); wait for other calls and tasks to finish`,
    );
  }

  /** Resumes a task after a restart; a task without a checkpoint is lost. */
  resume(task: WorkingTask, connectionTo: (server: string) => Connection): void {
    const { id: taskId, server, tool, args, trace, checkpoint } = task;
    const lost = (message: string): void => {
      this.#interactions.taskEnded(taskId);
      this.#tasks.apply(taskId, { type: 'fail', error: { code: -32000, message } });
    };
    const recorded = this.#recorder?.taskRestored(task);
    if (checkpoint === undefined) {
      lost(`gateway restarted: ${whatIsLost(task.unsent !== true)}`);
      return;
    }
    const waits = waitsForPerson(checkpoint);
    const forApproval = 'approval' in checkpoint;
    const gate = this.#gate;
    if (forApproval && gate === undefined) {
      lost('gateway restarted without rules: the call was not approved, and not sent; call the tool again');
      return;
    }
    if (this.#isHidden(task)) {
      lost('gateway restarted: the access rules no longer allow this tool');
      return;
    }
    let connection: Connection;
    let more: Partial<CallRequest> = {};
    let approved: string | undefined;
    try {
      connection = connectionTo(server);
      if (forApproval && gate !== undefined) more = gate.restored(checkpoint);
      else if (waits) {
        const point = readSignInPoint(checkpoint);
        more = requestFrom(point);
        approved = point.approved;
      }
    } catch (error) {
      lost(`gateway restarted: ${messageOf(error)}`);
      return;
    }
    const call = new LiveCall({
      id: secretId(),
      owner: this,
      request: {
        server,
        tool,
        args,
        timeoutMs: 0,
        ...(trace !== undefined && { meta: { traceparent: trace } }),
        ...more,
      },
      startedAt: this.#clock.now(),
      bytes: 0,
      caller: { onProgress: () => {} },
    });
    call.taskId = taskId;
    call.recorded = recorded;
    call.checkpoint = checkpoint;
    call.approved = approved;
    call.sent = !waits;
    this.#live.add(call.id, call);
    this.#interactions.serverUsed(server);
    void this.#run(call, connection, (outgoing) => {
      if (forApproval && gate !== undefined) {
        return gate.resume(call, checkpoint, () => connection.call(outgoing));
      }
      // The sign-in may have been completed meanwhile; if not, the server refuses the call again.
      return waits ? this.#start(call, connection, outgoing) : connection.resume(checkpoint, outgoing);
    });
  }

  /** Keeps a result whose reply did not arrive, as the task that the client would have had before. */
  keepResult({ server, tool, args, program, ttlMs }: CallMade, result: CallResult): string | undefined {
    // Once the session has ended, nothing can retrieve it.
    if (this.#closed) return undefined;
    const { id } = this.#tasks.create({
      server,
      tool,
      args,
      abandoned: true,
      ...(program !== undefined && { program }),
      ...(ttlMs !== undefined && { ttlMs }),
    });
    this.#tasks.apply(id, { type: 'complete', result });
    return id;
  }

  /** Cancels the task and the work on the server. `undefined` when it has already ended. */
  cancel(taskId: string, why: string | Error): Task | undefined {
    const reason = typeof why === 'string' ? new Error(why) : why;
    const task = this.#tasks.apply(taskId, { type: 'cancel', reason: reason.message });
    if (task) this.#stop(task, reason);
    return task;
  }

  /** Cancels a call that is not a task, and tells its client the reason. `false` if it has already ended. */
  cancelOpen(callId: string, reason: string): boolean {
    const call = this.#live.get(callId);
    if (call === undefined || call.answered) return false;
    const { server, tool } = call.request;
    const error = new GatewayError('TOOL_ERR_EXECUTION_FAILED', reason, { server, tool });
    // Answer first, so that the client gets this reason instead of its own cancellation.
    call.answer({ kind: 'failed', error, outcome: { kind: 'cancelled', reason } });
    this.#abandon(call, new Error(reason));
    return true;
  }

  /** The server is lost, and with it all calls that cannot continue without it. Returns the number of lost tasks. */
  serverLost(server: string, message: string): number {
    // A round that is being sent finds out itself whether the server received it.
    const lost = this.#on(server).filter(({ checkpoint, sendsAnswers }) => checkpoint === undefined && !sendsAnswers);
    return this.#failTasks(lost, message);
  }

  /** The server was removed: stops its running calls. */
  serverRemoved(server: string, reason: string): void {
    const calls = this.#on(server);
    this.#failTasks(calls, reason);
    for (const call of calls) {
      const { tool } = call.request;
      const error = new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', reason, { server, tool });
      // Answer first, so that the client gets this reason instead of its own cancellation.
      call.answer({ kind: 'failed', error, outcome: { kind: 'lost', reason } });
      this.#abandon(call, new Error(reason));
    }
  }

  /** Stops everything; the fate of the tasks depends on who ended the session. Returns the servers that keep tasks for later. */
  close({ by, reason }: Ending): Set<string> {
    this.#closed = true;
    const kept = new Set<string>();
    if (by === 'gateway') this.refuseOpen(reason);
    for (const call of this.#live.values()) {
      call.answer({ kind: 'cancelled' });
      // The next start resumes it, unless the server answers the pending round in time.
      if (by === 'successor' || (by === 'gateway' && canGoOn(call))) {
        call.stop.abort(LEAVE_RUNNING);
        kept.add(call.request.server);
        continue;
      }
      this.#abandon(call, new Error(reason));
      if (call.taskId === undefined) continue;
      if (by === 'client') this.#tasks.apply(call.taskId, { type: 'cancel', reason });
      else {
        const message = `${reason}: ${whatIsLost(call.sent)}`;
        this.#tasks.apply(call.taskId, { type: 'fail', error: { code: -32000, message } });
      }
    }
    return kept;
  }

  /** Another gateway owns the session: drops the calls without reporting their outcome. */
  leave(): void {
    this.#closed = true;
    this.#left = true;
    for (const call of this.#live.values()) this.#recorder?.callLeft(call);
  }

  /** Tells every waiting client that the gateway is shutting down. */
  refuseOpen(reason: string): void {
    for (const call of this.#live.values()) {
      const { server, tool } = call.request;
      call.answer({ kind: 'failed', error: shuttingDown({ server, tool }), outcome: { kind: 'lost', reason } });
    }
  }

  get size(): number {
    return this.#live.size;
  }

  /** Promotes calls that another gateway can continue as tasks, if their clients support tasks. */
  promoteKept(): void {
    for (const call of this.#live.values()) {
      if (call.checkpoint !== undefined && call.request.timeoutMs !== Infinity) call.promote('timeout');
    }
  }

  /** Whether a handover of the session would lose some calls. */
  get anyPlain(): boolean {
    for (const call of this.#live.values()) if (!canGoOn(call)) return true;
    return false;
  }

  /** Whether the same program has been waiting for an identical call for this long. */
  isWaitedFor(
    { server, tool, args, program }: Pick<CallRequest, 'server' | 'tool' | 'args' | 'program'>,
    forMs: number,
  ): boolean {
    const before = this.#clock.now() - forMs;
    const isSame = ({ answered, request }: LiveCall): boolean =>
      !answered &&
      request.program === program &&
      request.server === server &&
      request.tool === tool &&
      isDeepStrictEqual(request.args, args);
    // The oldest come first, and usually none is that old.
    return this.#live.findOldest(({ startedAt }) => startedAt <= before, isSame) !== undefined;
  }

  /** The server of each running call. */
  get servers(): string[] {
    return this.#live.values().map(({ request }) => request.server);
  }

  /** The task of an open call. */
  taskOf(callId: string): string | undefined {
    return this.#live.get(callId)?.taskId;
  }

  /** The tool of a running call. */
  toolOf(callId: string): string | undefined {
    return this.#live.get(callId)?.request.tool;
  }

  /** The id of the running call behind a task. */
  idOf(taskId: string): string | undefined {
    return this.#live.values().find((call) => call.taskId === taskId)?.id;
  }

  /** Reports the progress of a task until the returned function is called. */
  onProgress(taskId: string, listener: (progress: Progress) => void): () => void {
    const listeners = this.#progressOf.get(taskId) ?? new Set();
    this.#progressOf.set(taskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#progressOf.delete(taskId);
    };
  }

  /** `resume`: continues a call from before a restart instead of sending it. */
  async #run(
    call: LiveCall,
    connection: Connection,
    resume?: (call: OutgoingCall) => Promise<CallOutcome>,
  ): Promise<void> {
    let outcome: CallOutcome;
    try {
      const outgoing = this.#outgoing(call);
      outcome = await (resume === undefined ? this.#start(call, connection, outgoing) : resume(outgoing));
      if (this.#signIns !== undefined && needsSignIn(outcome)) {
        outcome = await this.#afterSignIn(call, connection, outgoing, [this.#signIns, outcome]);
      }
      outcome = withinLimit(outcome, this.#resultBytes);
    } catch (error) {
      // An unexpected failure of the connection must still end the call.
      this.#log.error('call_failed', { tool: call.request.tool, error: messageOf(error) });
      outcome = { kind: 'error', error: { code: -32603, message: messageOf(error) } };
    }
    this.#ended(call, outcome);
  }

  #ended(call: LiveCall, outcome: CallOutcome): void {
    this.#live.delete(call.id);
    this.#budget.give(call.bytes);
    if (this.#left) {
      call.answer({ kind: 'cancelled' });
      return;
    }
    // A job that the call has started may ask questions after the call has ended.
    this.#interactions.serverUsed(call.request.server);
    if (!this.#closed) this.#interactions.callEnded(call);
    // The next start resumes it.
    if (this.#closed && outcome.kind !== 'result' && call.checkpoint !== undefined) return;
    this.#log.debug('tool_execution_complete', {
      server: call.request.server,
      tool: call.request.tool,
      durationMs: this.#clock.now() - call.startedAt,
    });
    if (call.taskId === undefined) call.answer(replyFor(call.request, outcome));
    else this.#finishTask(call.taskId, outcome);
  }

  #outgoing(call: LiveCall): OutgoingCall {
    const { tool, args, meta, more, bare, tasks = 'use' } = call.request;
    const outgoing: OutgoingCall = {
      id: call.id,
      tool,
      args,
      tasks,
      taskTtlMs: this.#remoteTtlMs,
      signal: call.stop,
      listener: call,
    };
    if (meta !== undefined) outgoing.meta = meta;
    if (more !== undefined) outgoing.more = more;
    if (bare) outgoing.bare = true;
    return outgoing;
  }

  #cancelRequest(call: LiveCall, reason: Error): void {
    if (call.answered) return;
    this.#abandon(call, reason);
    call.answer({ kind: 'cancelled' });
  }

  /** The request no longer waits for the call, which becomes a task. */
  promote(call: LiveCall, because: Because): void {
    if (call.answered) return;
    const { server, tool, args, program, ttlMs, exposed, meta, webhook } = call.request;
    const trace = traceparentIn(meta);
    // From now on they count towards the task.
    this.#budget.give(call.bytes);
    call.bytes = 0;
    const { id } = this.#tasks.create({
      server,
      tool,
      args,
      ...(program !== undefined && { program }),
      ...(trace !== undefined && { trace }),
      ...(webhook !== undefined && { webhook }),
      ...(ttlMs !== undefined && { ttlMs }),
      // A client that left, or gets a question instead, does not learn of the task.
      ...(exposed && because !== 'gone' && because !== 'question' && !isAskedFirst(because) && { exposed }),
      ...(because === 'gone' && { abandoned: true }),
      ...(!call.sent && { unsent: true }),
      ...(this.#recorder && { callId: call.id }),
    });
    call.taskId = id;
    this.#recorder?.callPromoted(call, id);
    this.#interactions.callPromoted(call.id, id);
    if (call.checkpoint) this.#tasks.apply(id, { type: 'checkpoint', checkpoint: call.checkpoint });
    if (call.native) this.#tasks.apply(id, { type: 'native' });
    this.#log.info('tool_execution_timeout', { server, tool, taskId: id, because });
    this.#observed.observer?.callPromoted(server, because);
    call.answer({ kind: 'task', task: this.#tasks.get(id), because });
  }

  #finishTask(taskId: string, outcome: CallOutcome): void {
    this.#interactions.taskEnded(taskId);
    this.#tasks.apply(taskId, taskEnd(outcome));
  }

  progressed(call: LiveCall, progress: Progress): void {
    this.#recorder?.callProgressed(call, progress);
    if (call.taskId === undefined) {
      call.caller.onProgress(progress);
      return;
    }
    const steps = progress.total === undefined ? `${progress.progress}` : `${progress.progress}/${progress.total}`;
    this.#tasks.apply(call.taskId, { type: 'progress', message: shortenText(progress.message ?? steps) });
    for (const listener of this.#progressOf.get(call.taskId) ?? []) listener(progress);
  }

  /** The server reports a change of its task. */
  taskChanged(call: LiveCall, { statusMessage }: ServerTask): void {
    if (call.caller.takesTask) call.promote('server');
    call.native = true;
    if (call.taskId !== undefined) this.#tasks.apply(call.taskId, { type: 'native' });
    if (statusMessage === undefined || statusMessage === call.statusMessage) return;
    call.statusMessage = statusMessage;
    this.progressed(call, { progress: 0, message: statusMessage });
  }

  /** The call is about to be sent; it waits for the returned promise, if any. */
  sending(call: LiveCall): Promise<void> | undefined {
    call.sent = true;
    call.checkpoint = afterSending(call.checkpoint);
    call.approval?.use();
    if (call.taskId === undefined) return undefined;
    return this.#record(call.taskId, { type: 'sent' }, { required: call.approval !== undefined });
  }

  /** Resolves once the checkpoint is stored. */
  async checkpointChanged(call: LiveCall, checkpoint: ResumePoint | undefined): Promise<void> {
    // Only a call that waited for answers loses its checkpoint: it is resent with them.
    call.sendsAnswers = checkpoint === undefined;
    call.checkpoint = checkpoint;
    // A call that is not a task yet matters only to its client, which waits for it.
    if (call.taskId !== undefined) await this.#record(call.taskId, { type: 'checkpoint', checkpoint });
  }

  /** All current questions of the call have been presented again. */
  allAsked({ taskId }: LiveCall): void {
    if (taskId !== undefined) this.#interactions.allAsked(taskId);
  }

  /** With `required`, rejects if it cannot be stored. */
  async #record(taskId: string, event: TaskEvent, { required = false } = {}): Promise<void> {
    this.#tasks.apply(taskId, event);
    // Another gateway that owns the session would repeat whatever is not stored.
    if (this.#store.recorded) {
      await this.#store.recorded().catch(async (error: unknown) => this.#unlessLeft(error));
      return;
    }
    try {
      await this.#store.settled();
    } catch (error) {
      if (required)
        throw new GatewayError('TOOL_ERR_STORE', `the use of the approval could not be stored: ${messageOf(error)}`);
      // The work continues; only a restart before the store recovers would lose the position.
      this.#log.error('checkpoint_not_stored', { taskId, error: messageOf(error) });
    }
  }

  /**
   * Another gateway owns the session and continues the call: nothing more happens to it here. If it failed here, the server would be
   * told to cancel the work that the other gateway follows.
   */
  async #unlessLeft(error: unknown): Promise<void> {
    if (this.#store.isLost !== true) throw error;
    await new Promise<never>(() => {});
  }

  #on(server: string): LiveCall[] {
    return this.#live.values().filter(({ request }) => request.server === server);
  }

  #failTasks(calls: LiveCall[], message: string): number {
    const failed = calls.filter(
      ({ taskId }) =>
        taskId !== undefined && this.#tasks.apply(taskId, { type: 'fail', error: { code: -32000, message } }),
    );
    return failed.length;
  }

  #stop(task: Task, reason: Error): void {
    for (const call of this.#live.values()) if (call.taskId === task.id) this.#abandon(call, reason);
  }

  #abandon(call: LiveCall, reason: Error): void {
    // Questions first, so that they end for this reason and not because the stopped call withdraws them.
    this.#interactions.callStopped(call.id, reason.message);
    call.stop.abort(reason);
  }
}

/** Whether another gateway can continue the call. */
function canGoOn({ taskId, checkpoint, sendsAnswers }: LiveCall): boolean {
  return taskId !== undefined && (checkpoint !== undefined || sendsAnswers);
}

/** The error that a server without the tool would return. */
function unknownTool({ tool }: CallRequest): CallOutcome {
  return { kind: 'error', error: { code: INVALID_PARAMS, message: `Unknown tool: ${shortenText(tool)}` } };
}

function whatIsLost(sent: boolean): string {
  return sent
    ? 'the call was running on the server, and its result did not arrive'
    : 'the call had not been sent to the server; call the tool again';
}
