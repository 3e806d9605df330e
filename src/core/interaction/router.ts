import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import type { RpcFailure } from '../../lib/rpc-error.ts';
import { Alarm } from '../../lib/timers.ts';
import { isObject } from '../../lib/values.ts';
import { UNLIMITED, type Budget } from '../budget.ts';
import type { LiveCall } from '../call/live-call.ts';
import { GatewayError } from '../errors.ts';
import type { EventSink } from '../event/log.ts';
import type { AnswerSource } from '../history/entry.ts';
import type { SessionNotifier } from '../notify/session-notifier.ts';
import type { AnsweredVia, Observed, ObservedQuestion } from '../observer.ts';
import type { IncomingQuestion, SessionStore } from '../ports.ts';
import type { SessionListener } from '../session/listener.ts';
import type { CoreSettings } from '../settings.ts';
import type { TaskBook } from '../task/book.ts';
import { isBlocked } from '../task/task.ts';
import { answerMistake, InvalidAnswer } from './answer.ts';
import { linkOf, newInteraction, notAnswered, withdrawal } from './asked.ts';
import { attribute, chooseHost, outlivesCall, type OpenCall, type Surroundings } from './attribution.ts';
import type { Answer, Interaction, InteractionKind, OpenInteraction, SettledInteraction } from './interaction.ts';
import { blockedTasks, mentionsCall, requestOf, type Blocking, type Link } from './link.ts';
import { reduce, type Effect, type RoutedInteraction, type RouterEvent } from './reducer.ts';
import { Responders, type Responder, type Scope, type Unregister } from './responders.ts';
import type { StandingAnswer, StandingAnswers } from './standing-answers.ts';

/** How long after the last use of a server its questions outside of calls are taken to concern the client. */
const RECENT_USE_MS = 5 * 60_000;

const NO_CALLS: OpenCalls = new InFlight();

type OpenCalls = Pick<InFlight<string, LiveCall>, 'get' | 'values'>;

export interface RouterParts {
  sessionId: string;
  store: SessionStore;
  tasks: TaskBook;
  /** Told of interactions, and of their ends if nobody answered. */
  events: EventSink;
  /** Whether an event tells of every interaction, or only of those that no responder takes. */
  announce: 'always' | 'unclaimed';
  settings: CoreSettings['questions'];
  log: Log;
  /** The calls that are open now, by their ids. */
  calls?: OpenCalls;
  /** Answers that the config has for routine questions. */
  standing?: StandingAnswers | undefined;
  /** Whether a model may answer this, as far as its client did not say that it can be asked. */
  modelTakes?: (question: OpenInteraction) => boolean;
  /** Whether the client sees questions only with its own requests. */
  needsHost?: () => boolean;
  /** Told when the first interaction is there, and when the last one is gone. */
  onOccupied?: (occupied: boolean) => void;
  budget?: Budget;
  /** The largest question that is taken. */
  questionBytes?: number;
  observed?: Observed;
  /** Absent if nothing is recorded. */
  recorder?: SessionListener | undefined;
  /** Absent if nobody is notified. */
  notifier?: SessionNotifier | undefined;
  clock: Clock;
}

/** A request that is no call, and can host a question. */
export interface HostRequest {
  id: string;
  /** The server that it is for, which may have asked. */
  server: string;
  tellsRoots: boolean;
}

/** The party that brought an interaction from the server, and takes the answer there. */
interface Asker {
  onAnswered: (() => void) | undefined;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  stopListening: () => void;
}

interface Answerer {
  via: AnsweredVia;
  principal?: string | undefined;
  /** Of the rule or the model. */
  name?: string | undefined;
}

interface Entry {
  state: RoutedInteraction;
  /** What it takes of the budget. */
  bytes: number;
  /** Absent after a restart, until the server has asked again. */
  asker?: Asker;
  /** By which way an answer or a refusal came, and whose it is if not of the principal of the session. */
  by?: Answerer;
}

/**
 * Everything that waits for a person or a model in one session: brings each interaction to a responder who can answer it,
 * and the first valid answer to the server. `reduce` decides what happens to an interaction; this class runs the effects.
 * It is the only part that knows which tasks wait for which interactions.
 */
export class InteractionRouter {
  readonly #entries = new Map<string, Entry>();
  readonly #responders = new Responders();
  readonly #hosts = new Map<string, HostRequest>();
  /** When the client last used each server. */
  readonly #usedAt = new Map<string, number>();
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
      questionBytes: Infinity,
      observed: {},
      recorder: undefined,
      notifier: undefined,
      ...parts,
    };
    this.#alarm = new Alarm(() => this.sweep(), this.#parts.clock);
  }

  // --- Asking ---

  /** Resolves with the answer for the server, or rejects with the reason why there will be none. */
  async ask(server: string, incoming: IncomingQuestion): Promise<Answer> {
    if (incoming.withdrawn.aborted) throw new Error('the question was withdrawn');
    const earlier = this.#askedBefore(incoming);
    if (earlier?.state.phase === 'settled') return this.#settledAnswer(earlier.state.interaction, incoming);
    const { perSession } = this.#parts.settings;
    if (earlier === undefined && this.size >= perSession) {
      throw new Error(`too many open questions (limit questions.perSession = ${perSession})`);
    }
    const bytes = earlier?.bytes ?? this.#takeRoom(incoming.params);
    const state = earlier?.state ?? newInteraction(this.#parts, server, incoming);
    const { id } = state.interaction;
    return new Promise((resolve, reject) => {
      const asker = this.#asker(id, incoming, { resolve, reject });
      this.#keep(id, { state, bytes, asker });
      if (state.phase !== 'open') return;
      if (earlier === undefined) this.#opened(state.interaction, incoming);
      else this.#askedAgain(state.interaction, incoming);
    });
  }

  #opened(interaction: OpenInteraction, incoming: IncomingQuestion): void {
    const { id, kind, server, expiresAt } = interaction;
    const { log, announce, clock } = this.#parts;
    const usedAt = this.#usedAt.get(server);
    this.#alarm.at(expiresAt);
    log.info(`${kind}_received`, { requestId: id, server });
    const recentlyUsed = usedAt !== undefined && clock.now() - usedAt < RECENT_USE_MS;
    const [link, around] = [linkOf(incoming), this.#around(id)];
    const asked = { ...interaction, link: attribute(link, around).link };
    // What may concern another client is left to it.
    const concerns = recentlyUsed || asked.link.certainty !== 'none' || asked.link.host !== undefined;
    const rule = concerns ? this.#ruleFor(asked, incoming) : undefined;
    const handledBy = rule ? 'rule' : concerns && this.#goesToModel(asked) ? 'model' : undefined;
    this.#dispatch(id, { type: 'asked', link, around, recentlyUsed, announce, ...(handledBy && { handledBy }) });
    if (rule) this.#answerBy(rule, interaction);
  }

  /** After a restart the rules may be others, and a model may have been at work on it. */
  #askedAgain(interaction: OpenInteraction, incoming: IncomingQuestion): void {
    const { id, handledBy } = interaction;
    const rule = this.#ruleFor(interaction, incoming);
    if (rule) this.#answerBy(rule, interaction);
    else if (handledBy === undefined || (handledBy === 'model' && this.#parts.modelTakes(interaction))) {
      this.#dispatch(id, { type: 'offered_again' });
    } else this.leaveToPeople(id);
  }

  #ruleFor(asked: OpenInteraction, { fromGateway, ownMessage }: IncomingQuestion): StandingAnswer | undefined {
    const { standing, calls, tasks } = this.#parts;
    if (standing === undefined || asked.kind !== 'elicitation' || fromGateway) return undefined;
    const { callId = '', taskId = '' } = requestOf(asked.link) ?? {};
    const certain = asked.link.certainty === 'certain';
    const tool = certain ? (calls.get(callId)?.request.tool ?? tasks.find(taskId)?.tool) : undefined;
    const { id, server, params } = asked;
    return standing({ id, server, tool, params, message: ownMessage ?? params['message'] });
  }

  #answerBy({ rule, answer }: StandingAnswer, { id, kind }: OpenInteraction): void {
    this.answer(id, kind, answer, 'rule', undefined, rule).catch((error: unknown) => {
      this.#parts.log.error('standing_answer_failed', { requestId: id, rule, error: messageOf(error) });
    });
  }

  /** A client that can be asked answers with a model of its own. */
  #goesToModel(asked: OpenInteraction): boolean {
    const { modelTakes, calls } = this.#parts;
    if (asked.kind !== 'sampling' || !modelTakes(asked)) return false;
    const { link } = asked;
    const asking = [...(link.certainty === 'possible' ? link.calls : []), requestOf(link)];
    return !asking.some((ref) => {
      const effect = calls.get(ref?.callId ?? '')?.caller.effectOf?.(asked);
      return effect === 'ask' || effect === 'reply';
    });
  }

  #asker(
    id: string,
    { withdrawn, candidates, othersEnded, onAnswered, taken }: IncomingQuestion,
    { resolve, reject }: Pick<Asker, 'resolve' | 'reject'>,
  ): Asker {
    const onWithdrawn = (): void => this.#dispatch(id, { type: 'rejected', ...withdrawal(withdrawn) });
    const onOthersEnded = (): void => this.#dispatch(id, { type: 'others_ended', around: this.#around(id) });
    // Without a call, the server may have asked on its own. That a request such as `tools/list` has ended says nothing then.
    const others = candidates?.calls.length ? othersEnded : undefined;
    withdrawn.addEventListener('abort', onWithdrawn, { once: true });
    others?.addEventListener('abort', onOthersEnded, { once: true });
    return {
      onAnswered,
      resolve: (answer) => {
        this.#forgetOnceTaken(id, taken);
        resolve(answer);
      },
      reject: (error) => {
        this.#forgetOnceTaken(id, taken);
        reject(error);
      },
      stopListening: () => {
        withdrawn.removeEventListener('abort', onWithdrawn);
        others?.removeEventListener('abort', onOthersEnded);
      },
    };
  }

  #settledAnswer(interaction: SettledInteraction, { taken }: IncomingQuestion): Answer {
    if (!('answer' in interaction)) throw notAnswered(interaction);
    this.#forgetOnceTaken(interaction.id, taken);
    return interaction.answer;
  }

  #forgetOnceTaken(id: string, taken: AbortSignal | undefined): void {
    taken?.addEventListener('abort', () => this.#dispatch(id, { type: 'taken' }), { once: true });
  }

  /** Refuses a question that is too large, or for which there is no room. */
  #takeRoom(params: Record<string, unknown>): number {
    const { questionBytes, budget } = this.#parts;
    const bytes = roughSize(params, questionBytes);
    if (bytes > questionBytes) {
      throw new Error(`the question is larger than limits.questionBytes = ${questionBytes}`);
    }
    if (budget.take(bytes)) return bytes;
    throw new Error(`no memory left for the question (${budget.shortage(bytes)})`);
  }

  /** The same question, asked by the same task before the program was started again. */
  #askedBefore({ key, callId, taskId: asking, params, approval }: IncomingQuestion): Entry | undefined {
    const taskId = callId === undefined ? asking : this.#parts.calls.get(callId)?.taskId;
    if (key === undefined || taskId === undefined) return undefined;
    return [...this.#entries.values()].find(
      ({ state: { phase, interaction }, asker }) =>
        (phase === 'settled' || asker === undefined) &&
        interaction.key === key &&
        requestOf(interaction.link)?.taskId === taskId &&
        // The key of an approval says what it is about, and only the gateway asks for one; its words may have changed.
        (approval === undefined
          ? interaction.approval === undefined && isDeepStrictEqual(interaction.params, params)
          : interaction.approval !== undefined),
    );
  }

  // --- Answering ---

  /** Registers a responder until the returned function is called; what is open already is offered to it at once. */
  register(scope: Scope, responder: Responder): Unregister {
    return this.#responders.register(
      scope,
      responder,
      () => this.#open(),
      ({ id }) => this.#dispatch(id, { type: 'offered_again' }),
    );
  }

  /** A responder may be able to take now what it could not take before. */
  offerAgain(): void {
    for (const interaction of this.#open()) this.#responders.offer(interaction);
  }

  /** The responder that has it cannot reach its client any more; another one may. */
  release(id: string): void {
    this.#responders.release(id);
    this.#dispatch(id, { type: 'offered_again' });
  }

  isClaimed(id: string): boolean {
    return this.#responders.isClaimed(id);
  }

  /** Its client has it now, and may answer at any time. */
  presented(id: string): void {
    this.#dispatch(id, { type: 'presented' });
  }

  /**
   * Settles the interaction; the answer travels on to the server once it is stored. Throws if the answer does not fit, and
   * the interaction stays open; or if it has ended before the answer was stored, and the answer reaches nobody. `principal`:
   * who answers, if it is not the one whose session this is. `name`: that of the rule or the model.
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
    // Timers stand still while a machine sleeps.
    if (interaction.expiresAt <= this.#parts.clock.now()) {
      this.#dispatch(id, { type: 'expired' });
      this.get(id, kind);
    }
    if (via === 'tools') assertToolsMayAnswer(interaction, answer);
    const mistake = answerMistake(interaction, answer);
    if (mistake !== undefined) throw new InvalidAnswer(interaction, mistake, answer);
    this.#noteAnswerer(id, { via, principal, name });
    this.#dispatch(id, { type: 'answered', answer: asGiven(interaction, answer as Answer) });
    const { store, log, clock } = this.#parts;
    try {
      await store.settled();
    } catch (error) {
      // The person has answered; that must not be lost because a disk is full. The store tries again.
      log.error('answer_not_stored', { requestId: id, error: messageOf(error) });
      if (store.recorded) {
        this.#deliverOnceRecorded(id, store.recorded());
        throw new GatewayError('TOOL_ERR_STORE', `the answer is not stored yet: ${messageOf(error)}`);
      }
    }
    const { state } = this.#entries.get(id) ?? {};
    const overtakenBy = state?.phase === 'answering' ? state.overtakenBy : undefined;
    this.#dispatch(id, { type: 'stored' });
    if (overtakenBy !== undefined) {
      throw new GatewayError('TOOL_ERR_REQUEST_NOT_FOUND', `the question is no longer pending: ${overtakenBy}`);
    }
    log.info(`${kind}_responded`, { requestId: id, durationMs: clock.now() - interaction.createdAt });
    return state?.interaction ?? interaction;
  }

  /** Another gateway may have the session, and with it the question: it is open there as long as the answer is not stored. */
  #deliverOnceRecorded(id: string, recorded: Promise<void>): void {
    recorded
      .then(
        () => this.#dispatch(id, { type: 'stored' }),
        () => this.#leave(id),
      )
      .catch((error: unknown) => {
        this.#parts.log.error('answer_not_delivered', { requestId: id, error: messageOf(error) });
      });
  }

  /** The client answered with an error, which goes back to the server; `false` if the interaction is over already. */
  refuse(id: string, error: RpcFailure, via: AnsweredVia = 'request', principal?: string): boolean {
    if (this.find(id) === undefined) return false;
    this.#noteAnswerer(id, { via, principal });
    this.#dispatch(id, { type: 'refused', error });
    return true;
  }

  #noteAnswerer(id: string, by: Answerer): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.by = by;
  }

  /** The model that was to answer does not: `reason` says why, if one was asked. */
  leaveToPeople(id: string, reason?: string): void {
    const { announce } = this.#parts;
    this.#dispatch(id, { type: 'left_to_people', reason, around: this.#around(id), announce });
  }

  /** No person answered: only the tools of the hub answer it now, and every call that may wait for it becomes a task. */
  leaveToTools(id: string): void {
    const interaction = this.find(id);
    if (interaction === undefined) return;
    this.#dispatch(id, { type: 'left_to_tools', around: this.#around(id, { ...interaction, audience: 'tools' }) });
  }

  // --- Looking ---

  get size(): number {
    return this.#entries.size === 0 ? 0 : this.#open().length;
  }

  /** The open interaction of this id. */
  find(id: string): OpenInteraction | undefined {
    const state = this.#entries.get(id)?.state;
    return state?.phase === 'open' ? state.interaction : undefined;
  }

  get(id: string, kind: InteractionKind): OpenInteraction {
    const interaction = this.find(id);
    if (interaction?.kind === kind) return interaction;
    throw new GatewayError(
      'TOOL_ERR_REQUEST_NOT_FOUND',
      `no pending ${kind} request '${id}': unknown, answered, withdrawn or expired; ` +
        `${kind === 'elicitation' ? 'get_elicitations' : 'get_sampling_requests'} lists pending requests`,
    );
  }

  /** Open interactions that the client can see. */
  list(kind: InteractionKind, server?: string): OpenInteraction[] {
    return this.#open().filter(
      (interaction) =>
        interaction.kind === kind &&
        interaction.audience !== 'none' &&
        interaction.handledBy === undefined &&
        (server === undefined || interaction.server === server),
    );
  }

  /** Open interactions that the client gets with a task, or with a request that is none yet. */
  of(request: { taskId: string } | { callId: string }): OpenInteraction[] {
    return this.#open().filter(({ link, handledBy }) => {
      if (handledBy !== undefined) return false;
      const { callId, taskId } = requestOf(link) ?? {};
      return 'taskId' in request ? taskId === request.taskId : callId === request.callId;
    });
  }

  /** Whether an interaction is open that was asked before that moment. */
  anyOpenSince(moment: number): boolean {
    return this.#open().some(({ audience, createdAt }) => audience !== 'none' && createdAt <= moment);
  }

  // --- Calls and tasks ---

  /** The client uses a server: its questions outside of calls may concern the client. */
  serverUsed(server: string): void {
    this.#usedAt.set(server, this.#parts.clock.now());
    if (this.#entries.size === 0) return;
    const { announce } = this.#parts;
    for (const interaction of this.#open()) {
      if (interaction.server === server) this.#dispatch(interaction.id, { type: 'server_used', announce });
    }
  }

  callPromoted(callId: string, taskId: string): void {
    for (const { id, link } of this.#open()) {
      if (mentionsCall(link, callId)) this.#dispatch(id, { type: 'call_promoted', callId, taskId });
    }
  }

  /** A call has ended: fewer calls may have asked what it may have asked. */
  callEnded({ id, stop }: LiveCall): void {
    this.#requestClosed(id, stop.aborted);
  }

  #requestClosed(callId: string, aborted: boolean): void {
    if (this.#entries.size === 0) return;
    for (const { id, link } of this.#open()) {
      if (mentionsCall(link, callId)) {
        this.#dispatch(id, { type: 'call_ended', callId, aborted, around: this.#around(id) });
      }
    }
  }

  /** A call is stopped, and with it what only its client could answer. */
  callStopped(callId: string, reason: string): void {
    this.rejectWhere(
      ({ server, link }) =>
        requestOf(link)?.callId === callId && !outlivesCall(link, callId, this.#surroundings(server)),
      reason,
    );
  }

  /** The server will not ask again what belonged to this task. */
  taskEnded(taskId: string): void {
    this.rejectWhere(({ link }) => link.certainty === 'certain' && link.by.taskId === taskId, 'the call has ended');
    for (const [id, { state }] of this.#entries) {
      if (state.phase === 'settled' && requestOf(state.interaction.link)?.taskId === taskId) {
        this.#dispatch(id, { type: 'taken' });
      }
    }
  }

  /** A request that is no call is over, and with it what it asked; its server may not get to say so. */
  requestEnded(callId: string): void {
    this.rejectWhere(({ link }) => link.certainty === 'certain' && link.by.callId === callId, 'the request has ended');
  }

  /** What the server has not asked again by now, it will not ask again. */
  allAsked(taskId: string): void {
    for (const [id, { state, asker }] of this.#entries) {
      if (asker !== undefined || requestOf(state.interaction.link)?.taskId !== taskId) continue;
      if (state.phase === 'open') this.#dispatch(id, { type: 'rejected', reason: 'withdrawn by the server' });
    }
  }

  /** Rejects every open interaction that matches, and overtakes the answers that are being stored. */
  rejectWhere(matching: (interaction: Interaction) => boolean, reason: string): number {
    const before = this.size;
    for (const [id, { state }] of this.#entries) {
      if (state.phase !== 'settled' && matching(state.interaction)) this.#dispatch(id, { type: 'rejected', reason });
    }
    return before - this.size;
  }

  /** Open interactions that the task may have asked, and that its client does not get with another call. */
  unhostedOf(taskId: string): OpenInteraction[] {
    const callId = this.#callOf(taskId)?.id;
    if (callId === undefined) return [];
    return this.#open().filter(({ id, link, audience, handledBy }) => {
      if (handledBy !== undefined || !mentionsCall(link, callId)) return false;
      return audience === 'tools' || (requestOf(link) === undefined && !this.#isPresented(id));
    });
  }

  /** From now on the client is asked this through the call behind the task. */
  hostWith(id: string, taskId: string): void {
    const callId = this.#callOf(taskId)?.id;
    if (callId !== undefined) this.#dispatch(id, { type: 'hosted', host: { callId, taskId } });
  }

  /** A request that is no call and whose client waits for it can host questions, until the returned function is called. */
  addHost(host: HostRequest): (options?: { aborted?: boolean }) => void {
    this.#hosts.set(host.id, host);
    return ({ aborted = false } = {}) => {
      this.#hosts.delete(host.id);
      this.#requestClosed(host.id, aborted);
    };
  }

  /** Whether the client that made this call, or would be asked through another one, can tell in which folders it works. */
  tellsRoots(server: string, callId: string | undefined): boolean {
    const { calls, needsHost } = this.#parts;
    const id = callId ?? (needsHost() ? chooseHost(this.#surroundings(server))?.callId : undefined);
    if (id === undefined) return false;
    return (this.#hosts.get(id) ?? calls.get(id)?.caller)?.tellsRoots === true;
  }

  // --- Life cycle ---

  /** Brings back what an earlier run of the program left; `goesOn` tells which tasks still wait for their answers. */
  restore(interactions: readonly Interaction[], goesOn: (taskId: string) => boolean, { announced = false } = {}): void {
    const { budget, questionBytes } = this.#parts;
    for (const stored of interactions) {
      const { taskId } = requestOf(stored.link) ?? {};
      const waits = stored.key !== undefined && taskId !== undefined && goesOn(taskId);
      // Calls have other ids now.
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
        this.#keep(stored.id, { state, bytes });
        this.#record({ state, bytes }, { restored: true });
        if (waits) this.#alarm.at(stored.expiresAt);
        else this.#dispatch(stored.id, { type: 'rejected', reason: 'gateway restarted' });
      } else if (waits) {
        this.#keep(stored.id, { state: { phase: 'settled', interaction: { ...stored, link } }, bytes: 0 });
      } else this.#parts.store.drop('question', stored.id);
    }
    // Which tasks an interaction may have blocked is not known any more, and those of rejected ones go on.
    const { tasks } = this.#parts;
    for (const task of tasks.atWork()) {
      const by = this.#blocking(task.id);
      if (by !== undefined || isBlocked(task)) tasks.apply(task.id, { type: 'blocked', by });
    }
  }

  /** Timers stand still while the machine sleeps; deadlines do not. */
  sweep(): void {
    const { clock, log } = this.#parts;
    const now = clock.now();
    for (const { id, kind, server, expiresAt } of this.#open()) {
      if (expiresAt > now) this.#alarm.at(expiresAt);
      else {
        log.warn(`${kind}_timeout`, { requestId: id, server });
        this.#dispatch(id, { type: 'expired' });
      }
    }
  }

  /** `keeps` tells which tasks the next run of the program goes on with; all other interactions are over. */
  close(reason: string, keeps: (taskId: string) => boolean): void {
    const isKept = ({ key, link }: Interaction): boolean => {
      const { taskId } = requestOf(link) ?? {};
      return key !== undefined && taskId !== undefined && keeps(taskId);
    };
    this.#leaveWhere(isKept);
    this.rejectWhere((interaction) => !isKept(interaction), reason);
    this.#alarm.stop();
  }

  /** Another gateway has the session, and its questions. */
  leave(): void {
    this.#leaveWhere(() => true);
    this.#alarm.stop();
  }

  #leaveWhere(isLeft: (interaction: Interaction) => boolean): void {
    for (const [id, { state, asker }] of this.#entries) {
      if (state.phase === 'settled' || !isLeft(state.interaction)) continue;
      if (state.phase === 'open') this.#leave(id);
      // An answer that is being stored stays on record for the next run.
      else asker?.stopListening();
    }
  }

  /** Nothing more: the server would take a rejection for an answer. */
  #leave(id: string): void {
    this.#entries.get(id)?.asker?.stopListening();
    this.#forget(id);
  }

  // --- The shell around the reducer ---

  #dispatch(id: string, event: RouterEvent): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const before = entry.state;
    const { state, effects } = reduce(before, event);
    if (state === undefined) this.#forget(id);
    else entry.state = state;
    if (before.phase === 'open' && state?.phase !== 'open') this.#closed(entry);
    if (before.phase !== 'settled' && (state === undefined || state.phase === 'settled')) {
      const outcome = outcomeOf(before, event);
      this.#observe(entry, before, outcome);
      this.#recordEnd(entry, before, outcome, effects.find((effect) => effect.type === 'fail')?.reason);
    }
    this.#updateBlocking(before, state);
    for (const effect of effects) {
      // It may have ended while an earlier effect ran.
      if (this.#entries.has(id) || !concernsOpen(effect)) this.#run(entry, effect);
    }
    if (state !== undefined && state !== before && this.#entries.get(id) === entry) this.#record(entry);
  }

  #keep(id: string, entry: Entry): void {
    this.#entries.set(id, entry);
    if (this.#entries.size === 1) this.#parts.onOccupied(true);
  }

  #forget(id: string): void {
    if (this.#entries.delete(id) && this.#entries.size === 0) this.#parts.onOccupied(false);
  }

  #closed(entry: Entry): void {
    this.#parts.budget.give(entry.bytes);
    entry.bytes = 0;
  }

  /** Tells the observer that an interaction is over. */
  #observe({ by }: Entry, before: Unsettled, outcome: ObservedQuestion['outcome']): void {
    const { observed, clock, tasks } = this.#parts;
    if (observed.observer === undefined) return;
    const { kind, server, createdAt, link } = before.interaction;
    const { callId, taskId } = requestOf(link) ?? {};
    observed.observer.questionEnded({
      kind,
      server,
      createdAt,
      endedAt: clock.now(),
      outcome,
      via: by?.via,
      callId,
      taskTrace: taskId === undefined ? undefined : tasks.find(taskId)?.trace,
    });
  }

  /** Tells the history, and people, of an interaction that is open, or whose answer is being stored. */
  #record({ state, by }: Entry, { restored = false } = {}): void {
    const { recorder, notifier } = this.#parts;
    if (state.phase === 'settled') return;
    const { id } = state.interaction;
    if (state.phase === 'open') {
      const { handledBy } = state.interaction;
      const isAsked = state.presented || (this.#responders.isClaimed(id) && handledBy === undefined);
      recorder?.questionChanged(state.interaction, isAsked, restored);
      // What a rule or a model answers is no business of people, unless it fails.
      if (handledBy === undefined) notifier?.questionChanged(state.interaction, isAsked);
    } else if (by !== undefined) recorder?.questionAnswered(id, { ...by, via: SOURCES[by.via] });
  }

  #recordEnd(
    { by }: Entry,
    { interaction }: Unsettled,
    outcome: ObservedQuestion['outcome'],
    reason: string | undefined,
  ): void {
    const { recorder, notifier } = this.#parts;
    notifier?.questionEnded(interaction.id);
    if (recorder === undefined) return;
    const isAnswer = outcome !== 'expired' && outcome !== 'rejected';
    recorder.questionEnded(interaction, {
      status: outcome === 'refused' ? 'rejected' : outcome,
      reason,
      by: isAnswer && by !== undefined ? { ...by, via: SOURCES[by.via] } : undefined,
    });
  }

  #run(entry: Entry, effect: Effect): void {
    const { store, events, calls, tasks } = this.#parts;
    const { state, asker } = entry;
    const { id, kind, server } = state.interaction;
    switch (effect.type) {
      case 'save':
        if (isWorthKeeping(state)) store.put('question', state.interaction);
        return;
      case 'drop':
        store.drop('question', id);
        return;
      case 'promote':
        calls.get(effect.callId)?.promote('question');
        return;
      case 'offer':
        if (state.phase === 'open' && !this.#responders.offer(state.interaction)) {
          this.#dispatch(id, { type: 'unclaimed' });
        }
        return;
      case 'release':
        this.#responders.release(id, effect.words);
        return;
      case 'wake':
        tasks.wake(effect.taskId);
        return;
      case 'announce':
        if (kind === 'roots') return;
        if (effect.event === 'request') events.add(`${kind}_request`, server, { requestId: id });
        else events.add(`${kind}_expired`, server, { requestId: id, reason: effect.reason });
        return;
      case 'claim_answer':
        asker?.onAnswered?.();
        return;
      case 'deliver':
        asker?.stopListening();
        asker?.resolve(effect.answer);
        return;
      case 'fail': {
        asker?.stopListening();
        const { reason, error, expired } = effect;
        const status = expired ? 'expired' : 'rejected';
        asker?.reject(notAnswered({ kind, status, reason, ...(error && { error }) }));
      }
    }
  }

  /** Tells the tasks whose waiting has changed. */
  #updateBlocking(before: RoutedInteraction | undefined, after: RoutedInteraction | undefined): void {
    const was = tasksBlockedBy(before);
    const is = tasksBlockedBy(after);
    for (const taskId of new Set([...was.keys(), ...is.keys()])) {
      if (was.get(taskId) === is.get(taskId)) continue;
      this.#parts.tasks.apply(taskId, { type: 'blocked', by: this.#blocking(taskId) });
    }
  }

  #blocking(taskId: string): Blocking | undefined {
    const found = [...this.#entries.values()].flatMap(({ state }) => tasksBlockedBy(state).get(taskId) ?? []);
    return found.includes('certain') ? 'certain' : found[0];
  }

  #open(): OpenInteraction[] {
    return [...this.#entries.values()].flatMap(({ state }) => (state.phase === 'open' ? [state.interaction] : []));
  }

  #isPresented(id: string): boolean {
    const state = this.#entries.get(id)?.state;
    return state?.phase === 'open' && state.presented;
  }

  #callOf(taskId: string): LiveCall | undefined {
    return this.#parts.calls.values().find((call) => call.taskId === taskId);
  }

  #around(id: string, as?: OpenInteraction): Surroundings {
    const interaction = as ?? this.find(id);
    return interaction === undefined ? NOWHERE : this.#surroundings(interaction.server, interaction);
  }

  #surroundings(server: string, interaction?: OpenInteraction): Surroundings {
    const { calls, tasks, needsHost } = this.#parts;
    const open = calls.values().filter((call) => call.request.server === server);
    const asOpenCall = (call: LiveCall): OpenCall => ({
      callId: call.id,
      ...(call.taskId !== undefined && { taskId: call.taskId }),
      effect: (interaction && call.caller.effectOf?.(interaction)) ?? 'promote',
      waiting: !call.answered,
      detached: call.native === true || call.checkpoint !== undefined,
      asking: this.#open().some(({ id, link }) => id !== interaction?.id && requestOf(link)?.callId === call.id),
      abandoned: call.taskId !== undefined && tasks.find(call.taskId)?.abandoned === true,
    });
    const hosts = [...this.#hosts.values()].filter((host) => host.server === server).map(({ id }) => id);
    return { calls: open.map(asOpenCall), hosts, needsHost: needsHost() };
  }
}

const NOWHERE: Surroundings = { calls: [], hosts: [], needsHost: false };
const NOT_BLOCKED: ReadonlyMap<string, Blocking> = new Map();

function tasksBlockedBy(state: RoutedInteraction | undefined): ReadonlyMap<string, Blocking> {
  if (state?.phase !== 'open' || state.interaction.handledBy !== undefined) return NOT_BLOCKED;
  return blockedTasks(state.interaction.link);
}

type Unsettled = Exclude<RoutedInteraction, { phase: 'settled' }>;

/** With the tools of the hub, the model answers in place of a person. */
function assertToolsMayAnswer({ approval, approver }: Interaction, answer: unknown): void {
  if (approver === 'person' || approval?.approver === 'person') {
    throw new GatewayError(
      'TOOL_ERR_NOT_ALLOWED',
      'a person has to decide this: in the console, with `meanwhile inbox`, or in a client that asks; tell the user',
    );
  }
  const content = isObject(answer) ? answer['content'] : undefined;
  if (approval !== undefined && isObject(content) && content['decision'] === 'always') {
    throw new GatewayError(
      'TOOL_ERR_NOT_ALLOWED',
      'only a person can allow a tool for the rest of the session; answer "allow" for this call, or "deny"',
    );
  }
}

/** To deny a call is to decline it, however it was said. */
function asGiven({ approval }: Interaction, answer: Answer): Answer {
  const { content } = answer;
  return approval !== undefined && isObject(content) && content['decision'] === 'deny' ? { action: 'decline' } : answer;
}

function outcomeOf(before: Unsettled, event: RouterEvent): ObservedQuestion['outcome'] {
  if (before.phase === 'answering') return before.overtakenBy === undefined ? before.interaction.status : 'rejected';
  return event.type === 'expired' || event.type === 'refused' ? event.type : 'rejected';
}

const SOURCES: Record<AnsweredVia, AnswerSource> = {
  request: 'client',
  round: 'client',
  tools: 'tools',
  console: 'console',
  terminal: 'terminal',
  rule: 'rule',
  model: 'model',
  link: 'link',
};

function concernsOpen(effect: Effect): boolean {
  switch (effect.type) {
    case 'save':
    case 'promote':
    case 'offer':
      return true;
    case 'announce':
      return effect.event === 'request';
    case 'drop':
    case 'release':
    case 'wake':
    case 'claim_answer':
    case 'deliver':
    case 'fail':
      return false;
  }
}

/** A settled interaction only matters to a server that can ask for it again by its key. */
function isWorthKeeping({ phase, interaction }: RoutedInteraction): boolean {
  return phase === 'open' || interaction.key !== undefined;
}
