import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import type { RpcFailure } from '../../lib/rpc-error.ts';
import { Alarm } from '../../lib/timers.ts';
import { UNLIMITED, type Budget } from '../budget.ts';
import type { LiveCall } from '../call/live-call.ts';
import { GatewayError } from '../errors.ts';
import type { EventSink } from '../event/log.ts';
import type { SessionNotifier } from '../notify/session-notifier.ts';
import type { AnsweredVia, Observed } from '../observer.ts';
import type { IncomingQuestion } from '../ports/connection.ts';
import type { SessionStore } from '../ports/store.ts';
import type { SessionListener } from '../session/session-listener.ts';
import type { CoreSettings } from '../settings.ts';
import type { Quota } from '../shared-limit.ts';
import type { TaskBook } from '../task/book.ts';
import { answerMistake, asGiven, assertToolsMayAnswer, InvalidAnswer } from './answer.ts';
import { outlivesCall } from './attribution.ts';
import { ClientActivity, type HostRequest, type OpenCalls } from './client-activity.ts';
import { Intake } from './intake.ts';
import type { Answer, Interaction, InteractionKind, OpenInteraction } from './interaction.ts';
import { mentionsCall, requestOf, type Link } from './link.ts';
import type { RoutedInteraction } from './reducer.ts';
import { Responders, type Responder, type ResponderScope, type Unregister } from './responders.ts';
import { InteractionShell } from './shell.ts';
import type { StandingAnswer, StandingAnswers } from './standing-answers.ts';

const NO_CALLS: OpenCalls = new InFlight();

export interface RouterParts {
  sessionId: string;
  store: SessionStore;
  tasks: TaskBook;
  /** Receives interactions, and their ends if they were not answered. */
  events: EventSink;
  /** Whether events announce every interaction, or only those that no responder takes. */
  announce: 'always' | 'unclaimed';
  settings: CoreSettings['questions'];
  log: Log;
  /** The calls that are open now, by their ids. */
  calls?: OpenCalls;
  /** The config's rules for routine questions. */
  standing?: StandingAnswers | undefined;
  /** Whether a model may answer this, if the client did not declare that it can be asked. */
  modelTakes?: (question: OpenInteraction) => boolean;
  /** Whether the client receives questions only through its own requests. */
  needsHost?: () => boolean;
  /** Called when the first interaction arrives, and when the last one ends. */
  onOccupied?: (occupied: boolean) => void;
  budget?: Budget;
  /** The principal's quota of open questions; absent without one. */
  quota?: Quota | undefined;
  /** The largest accepted question. */
  questionBytes?: number;
  observed?: Observed;
  /** Absent without history and audit record. */
  recorder?: SessionListener | undefined;
  /** Absent without notification targets. */
  notifier?: SessionNotifier | undefined;
  clock: Clock;
}

/**
 * The open interactions of one session: brings each one to a responder that can answer it,
 * and the first valid answer back to the server.
 */
export class InteractionRouter {
  readonly #responders = new Responders();
  readonly #shell: InteractionShell;
  readonly #activity: ClientActivity;
  readonly #intake: Intake;
  readonly #alarm: Alarm;
  readonly #parts: Required<RouterParts>;

  constructor(parts: RouterParts) {
    this.#parts = {
      calls: NO_CALLS,
      standing: undefined,
      modelTakes: () => false,
      needsHost: () => false,
      onOccupied: () => {},
      budget: UNLIMITED,
      quota: undefined,
      questionBytes: Infinity,
      observed: {},
      recorder: undefined,
      notifier: undefined,
      ...parts,
    };
    this.#alarm = new Alarm(() => this.sweep(), this.#parts.clock);
    this.#shell = new InteractionShell(this.#parts, this.#responders);
    this.#activity = new ClientActivity(this.#parts, this.#shell);
    this.#intake = new Intake(this.#parts, {
      shell: this.#shell,
      activity: this.#activity,
      alarm: this.#alarm,
      answerBy: (answer, interaction) => this.#answerBy(answer, interaction),
      leaveToPeople: (id) => this.leaveToPeople(id),
    });
  }

  /** Resolves with the answer for the server, or rejects with the reason why there will be none. */
  async ask(server: string, incoming: IncomingQuestion): Promise<Answer> {
    return this.#intake.ask(server, incoming);
  }

  // --- Answering ---

  /** Registers a responder until the returned function is called, and offers it the open interactions. */
  register(scope: ResponderScope, responder: Responder): Unregister {
    return this.#responders.register(scope, responder, this.#shell);
  }

  /** Offers unclaimed interactions again, because a responder may now be able to take them. */
  offerAgain(): void {
    for (const interaction of this.#shell.open()) this.#responders.offer(interaction);
  }

  /** Its responder can no longer reach the client; another one may. */
  release(id: string): void {
    this.#responders.release(id);
    this.#shell.dispatch(id, { type: 'offered_again' });
  }

  isClaimed(id: string): boolean {
    return this.#responders.isClaimed(id);
  }

  /** The client has it now and may answer at any time. */
  presented(id: string): void {
    this.#shell.dispatch(id, { type: 'presented' });
  }

  /**
   * Settles the interaction; the answer is sent to the server once it is stored. Throws if the answer is invalid, and
   * the interaction stays open; or if it ended before the answer was stored, and the answer is discarded. `principal`:
   * who answers, if not the owner of the session. `name`: the rule or the model.
   */
  async answer(
    id: string,
    kind: InteractionKind,
    answer: unknown,
    via: AnsweredVia = 'request',
    principal?: string,
    name?: string,
  ): Promise<Interaction> {
    const interaction = this.get(id, kind);
    // Timers stop while the machine sleeps.
    if (interaction.expiresAt <= this.#parts.clock.now()) {
      this.#shell.dispatch(id, { type: 'expired' });
      this.get(id, kind);
    }
    if (via === 'tools') assertToolsMayAnswer(interaction, answer);
    const mistake = answerMistake(interaction, answer);
    if (mistake !== undefined) throw new InvalidAnswer(interaction, mistake, answer);
    const event = { type: 'answered', answer: asGiven(interaction, answer as Answer) } as const;
    this.#shell.dispatch(id, event, { via, principal, name });
    const { store, log, clock } = this.#parts;
    try {
      await store.settled();
    } catch (error) {
      // The answer must not be lost because the disk is full. The store retries.
      log.error('answer_not_stored', { requestId: id, error: messageOf(error) });
      if (store.recorded) {
        this.#deliverOnceRecorded(id, store.recorded());
        throw new GatewayError('TOOL_ERR_STORE', `the answer is not stored yet: ${messageOf(error)}`);
      }
    }
    const { state } = this.#shell.entry(id) ?? {};
    const overtakenBy = state?.phase === 'answering' ? state.overtakenBy : undefined;
    this.#shell.dispatch(id, { type: 'stored' });
    if (overtakenBy !== undefined) {
      throw new GatewayError('TOOL_ERR_REQUEST_NOT_FOUND', `the question is no longer pending: ${overtakenBy}`);
    }
    log.info(`${kind}_responded`, { requestId: id, durationMs: clock.now() - interaction.createdAt });
    return state?.interaction ?? interaction;
  }

  /** Another gateway may own the session and its question, which is open there until the answer is stored. */
  #deliverOnceRecorded(id: string, recorded: Promise<void>): void {
    recorded
      .then(
        () => this.#shell.dispatch(id, { type: 'stored' }),
        () => this.#shell.leave(id),
      )
      .catch((error: unknown) => {
        this.#parts.log.error('answer_not_delivered', { requestId: id, error: messageOf(error) });
      });
  }

  #answerBy({ rule, answer }: StandingAnswer, { id, kind }: OpenInteraction): void {
    this.answer(id, kind, answer, 'rule', undefined, rule).catch((error: unknown) => {
      this.#parts.log.error('standing_answer_failed', { requestId: id, rule, error: messageOf(error) });
    });
  }

  /** The client answered with an error, which is sent to the server; `false` if the interaction has ended. */
  refuse(id: string, error: RpcFailure, via: AnsweredVia = 'request', principal?: string): boolean {
    if (this.find(id) === undefined) return false;
    this.#shell.dispatch(id, { type: 'refused', error }, { via, principal });
    return true;
  }

  /** No model answers it; `reason`: why the model that was asked did not. */
  leaveToPeople(id: string, reason?: string): void {
    const { announce } = this.#parts;
    this.#shell.dispatch(id, { type: 'left_to_people', reason, around: this.#activity.around(id), announce });
  }

  /** No person answered: only the hub tools can answer it now, and every call that may wait for it becomes a task. */
  leaveToTools(id: string): void {
    const interaction = this.find(id);
    if (interaction === undefined) return;
    this.#shell.dispatch(id, {
      type: 'left_to_tools',
      around: this.#activity.around(id, { ...interaction, audience: 'tools' }),
    });
  }

  // --- Looking ---

  get size(): number {
    return this.#shell.isEmpty ? 0 : this.#shell.open().length;
  }

  /** The open interaction of this id. */
  find(id: string): OpenInteraction | undefined {
    return this.#shell.find(id);
  }

  get(id: string, kind: InteractionKind): OpenInteraction {
    const interaction = this.find(id);
    if (interaction?.kind === kind) return interaction;
    throw questionNotFound(id, kind);
  }

  /** Open interactions that the client can see. */
  list(kind: InteractionKind, server?: string): OpenInteraction[] {
    return this.#shell
      .open()
      .filter(
        (interaction) =>
          interaction.kind === kind &&
          interaction.audience !== 'none' &&
          interaction.handledBy === undefined &&
          (server === undefined || interaction.server === server),
      );
  }

  /** Open interactions that the client gets with a task, or with a call that is not a task yet. */
  of(request: { taskId: string } | { callId: string }): OpenInteraction[] {
    return this.#shell.open().filter(({ link, handledBy }) => {
      if (handledBy !== undefined) return false;
      const { callId, taskId } = requestOf(link) ?? {};
      return 'taskId' in request ? taskId === request.taskId : callId === request.callId;
    });
  }

  /** All matching open interactions, whether or not the client can see them. */
  openWhere(matching: (interaction: OpenInteraction) => boolean): OpenInteraction[] {
    return this.#shell.open().filter(matching);
  }

  /** Whether an interaction from before this time is open. */
  anyOpenSince(moment: number): boolean {
    return this.#shell.open().some(({ audience, createdAt }) => audience !== 'none' && createdAt <= moment);
  }

  // --- Calls and tasks ---

  /** The client uses a server, whose questions outside of calls may now concern it. */
  serverUsed(server: string): void {
    this.#activity.serverUsed(server);
    if (this.#shell.isEmpty) return;
    const { announce } = this.#parts;
    for (const interaction of this.#shell.open()) {
      if (interaction.server === server) this.#shell.dispatch(interaction.id, { type: 'server_used', announce });
    }
  }

  callPromoted(callId: string, taskId: string): void {
    for (const { id, link } of this.#shell.open()) {
      if (mentionsCall(link, callId)) this.#shell.dispatch(id, { type: 'call_promoted', callId, taskId });
    }
  }

  /** A call has ended and no longer counts as a possible asker. */
  callEnded({ id, stop }: LiveCall): void {
    this.#requestClosed(id, stop.aborted);
  }

  #requestClosed(callId: string, aborted: boolean): void {
    if (this.#shell.isEmpty) return;
    for (const { id, link } of this.#shell.open()) {
      if (mentionsCall(link, callId)) {
        this.#shell.dispatch(id, { type: 'call_ended', callId, aborted, around: this.#activity.around(id) });
      }
    }
  }

  /** A call is stopped, and with it the questions that only its client could answer. */
  callStopped(callId: string, reason: string): void {
    this.rejectWhere(
      ({ server, link }) =>
        requestOf(link)?.callId === callId && !outlivesCall(link, callId, this.#activity.surroundings(server)),
      reason,
    );
  }

  /** The server will not repeat questions of this task. */
  taskEnded(taskId: string): void {
    this.rejectWhere(({ link }) => link.certainty === 'certain' && link.by.taskId === taskId, 'the call has ended');
    for (const [id, { state }] of this.#shell.entries()) {
      if (state.phase === 'settled' && requestOf(state.interaction.link)?.taskId === taskId) {
        this.#shell.dispatch(id, { type: 'taken' });
      }
    }
  }

  /** A request other than a call has ended, and so have its questions; the server may not be able to withdraw them. */
  requestEnded(callId: string): void {
    this.rejectWhere(({ link }) => link.certainty === 'certain' && link.by.callId === callId, 'the request has ended');
  }

  /** The server has repeated all of its questions; the others are obsolete. */
  allAsked(taskId: string): void {
    for (const [id, { state, asker }] of this.#shell.entries()) {
      if (asker !== undefined || requestOf(state.interaction.link)?.taskId !== taskId) continue;
      if (state.phase === 'open') this.#shell.dispatch(id, { type: 'rejected', reason: 'withdrawn by the server' });
    }
  }

  /** Rejects every matching open interaction, including those whose answer is being stored. */
  rejectWhere(matching: (interaction: Interaction) => boolean, reason: string): number {
    const before = this.size;
    for (const [id, { state }] of this.#shell.entries()) {
      if (state.phase !== 'settled' && matching(state.interaction))
        this.#shell.dispatch(id, { type: 'rejected', reason });
    }
    return before - this.size;
  }

  /** Open interactions that the task may have asked and that have no other host. */
  unhostedOf(taskId: string): OpenInteraction[] {
    const callId = this.#activity.callOf(taskId)?.id;
    if (callId === undefined) return [];
    return this.#shell.open().filter(({ id, link, audience, handledBy }) => {
      if (handledBy !== undefined || !mentionsCall(link, callId)) return false;
      return audience === 'tools' || (requestOf(link) === undefined && !isPresented(this.#shell.entry(id)?.state));
    });
  }

  /** Makes the call behind the task the host of the interaction. */
  hostWith(id: string, taskId: string): void {
    const callId = this.#activity.callOf(taskId)?.id;
    if (callId !== undefined) this.#shell.dispatch(id, { type: 'hosted', host: { callId, taskId } });
  }

  /** Adds a request other than a call as a possible host, until the returned function is called. */
  addHost(host: HostRequest): (options?: { aborted?: boolean }) => void {
    this.#activity.addHost(host);
    return ({ aborted = false } = {}) => {
      this.#activity.removeHost(host.id);
      this.#requestClosed(host.id, aborted);
    };
  }

  /** Whether the client of this call, or of the call it would be asked through, supports roots. */
  tellsRoots(server: string, callId: string | undefined): boolean {
    return this.#activity.tellsRoots(server, callId);
  }

  // --- Life cycle ---

  /** Restores interactions after a restart; `goesOn` returns whether a task still waits for its answers. */
  restore(interactions: readonly Interaction[], goesOn: (taskId: string) => boolean, { announced = false } = {}): void {
    const { budget, questionBytes } = this.#parts;
    for (const stored of interactions) {
      const { taskId } = requestOf(stored.link) ?? {};
      const waits = stored.key !== undefined && taskId !== undefined && goesOn(taskId);
      // Call ids change with a restart.
      const link: Link = taskId === undefined ? { certainty: 'none' } : { certainty: 'certain', by: { taskId } };
      if (stored.status === 'open') {
        const bytes = roughSize(stored.params, questionBytes);
        budget.add(bytes);
        const state: RoutedInteraction = {
          phase: 'open',
          interaction: { ...stored, link },
          presented: false,
          announced: announced && stored.audience !== 'none',
        };
        this.#shell.restore(stored.id, { state, bytes });
        if (waits) this.#alarm.at(stored.expiresAt);
        else this.#shell.dispatch(stored.id, { type: 'rejected', reason: 'gateway restarted' });
      } else if (waits) {
        this.#shell.keep(stored.id, { state: { phase: 'settled', interaction: { ...stored, link } }, bytes: 0 });
      } else this.#parts.store.drop('question', stored.id);
    }
    this.#shell.restoreBlocking();
  }

  /** Expires overdue interactions: timers stop while the machine sleeps. */
  sweep(): void {
    const { clock, log } = this.#parts;
    const now = clock.now();
    for (const { id, kind, server, expiresAt } of this.#shell.open()) {
      if (expiresAt > now) this.#alarm.at(expiresAt);
      else {
        log.warn(`${kind}_timeout`, { requestId: id, server });
        this.#shell.dispatch(id, { type: 'expired' });
      }
    }
  }

  /** `keeps` returns whether the next process resumes a task; all other interactions end. */
  close(reason: string, keeps: (taskId: string) => boolean): void {
    const isKept = ({ key, link }: Interaction): boolean => {
      const { taskId } = requestOf(link) ?? {};
      return key !== undefined && taskId !== undefined && keeps(taskId);
    };
    this.#leaveWhere(isKept);
    this.rejectWhere((interaction) => !isKept(interaction), reason);
    this.#alarm.stop();
  }

  /** Another gateway owns the session and its questions. */
  leave(): void {
    this.#leaveWhere(() => true);
    this.#alarm.stop();
  }

  #leaveWhere(isLeft: (interaction: Interaction) => boolean): void {
    for (const [id, { state, asker }] of this.#shell.entries()) {
      if (state.phase === 'settled' || !isLeft(state.interaction)) continue;
      if (state.phase === 'open') this.#shell.leave(id);
      // An answer that is being stored is kept for the next process.
      else asker?.stopListening();
    }
  }
}

function isPresented(state: RoutedInteraction | undefined): boolean {
  return state?.phase === 'open' && state.presented;
}

export function questionNotFound(id: string, kind: InteractionKind): GatewayError {
  return new GatewayError(
    'TOOL_ERR_REQUEST_NOT_FOUND',
    `no pending ${kind} request '${id}': unknown, answered, withdrawn or expired; ` +
      `${kind === 'elicitation' ? 'get_elicitations' : 'get_sampling_requests'} lists pending requests`,
  );
}
