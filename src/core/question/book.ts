import { isDeepStrictEqual } from 'node:util';
import { secretId } from '../../lib/ids.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { Alarm } from '../../lib/timers.ts';
import { UNLIMITED, type Budget } from '../budget.ts';
import { GatewayError } from '../errors.ts';
import { RpcError, type RpcFailure } from '../../lib/rpc-error.ts';
import type { EventSink } from '../event/log.ts';
import type { IncomingQuestion, SessionStore } from '../ports.ts';
import type { CoreSettings } from '../settings.ts';
import { Desks } from './desks.ts';
import {
  settleQuestion,
  type Answer,
  type Candidates,
  type Question,
  type QuestionEvent,
  type QuestionKind,
} from './question.ts';
import { SettledQuestions } from './settled.ts';

/** How long after the last use of a server its questions outside of calls are taken to concern the client. */
const RECENT_USE_MS = 5 * 60_000;

/** Whoever brought the question from the server, and takes the answer there. */
interface Asker {
  onAnswered: (() => void) | undefined;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  stopListening: () => void;
}

interface Entry {
  question: Question;
  /** What it takes of the budget. */
  bytes: number;
  /** Whoever it is for has been told of it. */
  shown?: boolean;
  /** Absent after a restart, until the server has asked again. */
  asker?: Asker | undefined;
}

/** A question whose answer is being stored. Until that is done, whatever ends the question overtakes the answer. */
interface Answering {
  question: Question;
  /** Why the server does not want the answer any more. */
  overtakenBy?: string;
}

/** The open questions of one session. What has been answered, has expired or was rejected is gone from here. */
export class QuestionBook {
  readonly #open = new Map<string, Entry>();
  readonly #answering = new Map<string, Answering>();
  readonly #settled: SettledQuestions;
  readonly #alarm = new Alarm(() => this.#expireDue());
  readonly #sessionId: string;
  readonly #store: SessionStore;
  readonly #events: EventSink;
  readonly #settings: CoreSettings['questions'];
  readonly #log: Log;
  readonly #budget: Budget;
  readonly #questionBytes: number;
  /** When the client last used each server. */
  readonly #usedAt = new Map<string, number>();
  /** Ties a new question to the call and the task that ask it, as far as they are known. */
  ownedBy: (question: Question) => Question = (question) => question;
  /** Told when a question is in the book, and when it is over. */
  onOpened: (question: Question) => void = () => {};
  /** The task that a call has become. */
  taskOf: (callId: string) => string | undefined = () => undefined;
  onClosed: (question: Question) => void = () => {};
  /** Told when the requests other than calls that may have asked a question have ended. */
  onOthersEnded: (questionId: string) => void = () => {};
  /** Who can put questions before somebody. */
  readonly desks = new Desks(() => this.#questions());

  constructor(
    sessionId: string,
    store: SessionStore,
    events: EventSink,
    settings: CoreSettings['questions'],
    log: Log,
    { budget = UNLIMITED, questionBytes = Infinity } = {},
  ) {
    this.#budget = budget;
    this.#questionBytes = questionBytes;
    this.#sessionId = sessionId;
    this.#store = store;
    this.#settled = new SettledQuestions(store);
    this.#events = events;
    this.#settings = settings;
    this.#log = log;
  }

  /** Resolves with the answer for the server, or rejects with the reason why there will be none. */
  async ask(server: string, incoming: IncomingQuestion): Promise<Answer> {
    if (incoming.withdrawn.aborted) throw new Error('the question was withdrawn');
    const earlier = this.#askedBefore(incoming);
    if (earlier?.answer !== undefined) {
      this.#settled.forgetOnceTaken(earlier.id, incoming.taken);
      return earlier.answer;
    }
    if (earlier !== undefined && earlier.status !== 'open') throw notAnswered(earlier);
    if (earlier === undefined && this.#open.size >= this.#settings.perSession) {
      throw new Error(`too many open questions (limit questions.perSession = ${this.#settings.perSession})`);
    }
    const bytes = this.#takeRoom(incoming.params);
    const question = earlier ?? this.#newQuestion(server, incoming);
    return new Promise((resolve, reject) => {
      const withdraw = (): void => {
        const { reason, words } = withdrawal(incoming.withdrawn);
        if (this.#open.has(question.id)) {
          this.#settle(question.id, { type: 'reject', reason, ...(words !== undefined && { words }) });
        } else this.#overtake(({ id }) => id === question.id, reason);
      };
      const onOthersEnded = (): void => this.onOthersEnded(question.id);
      incoming.withdrawn.addEventListener('abort', withdraw, { once: true });
      // Without a call, the server may have asked on its own. That a request such as `tools/list` has ended says nothing then.
      const othersEnded = question.candidates?.calls.length ? incoming.othersEnded : undefined;
      othersEnded?.addEventListener('abort', onOthersEnded, { once: true });
      const stopListening = (): void => {
        incoming.withdrawn.removeEventListener('abort', withdraw);
        othersEnded?.removeEventListener('abort', onOthersEnded);
      };
      const asker: Asker = {
        onAnswered: incoming.onAnswered,
        resolve: (answer) => {
          this.#settled.forgetOnceTaken(question.id, incoming.taken);
          resolve(answer);
        },
        reject,
        stopListening,
      };
      const entry: Entry = { question, asker, bytes };
      // Brought back after a restart, it has been counted before.
      this.#budget.give(this.#open.get(question.id)?.bytes ?? 0);
      this.#open.set(question.id, entry);
      if (earlier === undefined) {
        entry.question = this.#hiddenUnlessUsed(this.ownedBy(question));
        this.#announce(entry.question);
        this.onOpened(entry.question);
      }
      this.desks.offer(entry.question);
    });
  }

  /** Refuses a question that is too large, or for which there is no room. */
  #takeRoom(params: Record<string, unknown>): number {
    const bytes = roughSize(params, this.#questionBytes);
    if (bytes > this.#questionBytes) {
      throw new Error(`the question is larger than limits.questionBytes = ${this.#questionBytes}`);
    }
    if (this.#budget.take(bytes)) return bytes;
    throw new Error(`there is no room for the question (${this.#budget.shortage(bytes)})`);
  }

  /** Brings back what an earlier run of the program left; `goesOn` tells which tasks still wait for their answers. */
  restore(questions: Question[], goesOn: (taskId: string) => boolean): void {
    for (const question of questions) {
      if (question.status !== 'open') continue;
      const bytes = roughSize(question.params, this.#questionBytes);
      this.#budget.add(bytes);
      this.#open.set(question.id, { question, bytes });
    }
    for (const { question } of this.#open.values()) {
      const waits = question.key !== undefined && question.taskId !== undefined && goesOn(question.taskId);
      if (waits) this.#alarm.at(question.expiresAt);
      else this.#settle(question.id, { type: 'reject', reason: 'gateway restarted' });
    }
    const settled = questions.filter(({ status }) => status !== 'open');
    this.#settled.restore(settled, goesOn);
  }

  /**
   * Settles the question; the answer travels on to the server once the record is safe. Throws if the question has ended by
   * then: the answer reaches nobody.
   */
  async answer(id: string, kind: QuestionKind, answer: Answer): Promise<Question> {
    const { asker } = this.#open.get(this.get(id, kind).id) ?? {};
    const { question } = this.#close(id, { type: 'answer', answer });
    asker?.onAnswered?.();
    const answering: Answering = { question };
    this.#answering.set(id, answering);
    this.#settled.keep(question);
    try {
      await this.#store.settled();
    } catch (error) {
      // The person has answered; that must not be lost because a disk is full. The store tries again.
      this.#log.error('answer_not_stored', { requestId: id, error: messageOf(error) });
    }
    this.#answering.delete(id);
    asker?.stopListening();
    const { overtakenBy } = answering;
    if (overtakenBy !== undefined) {
      this.#settled.forget(id);
      asker?.reject(new Error(`${kind} request not answered: ${overtakenBy}`));
      throw new GatewayError('TOOL_ERR_REQUEST_NOT_FOUND', `the question is no longer open: ${overtakenBy}`);
    }
    this.#log.info(`${kind}_responded`, { requestId: id, durationMs: Date.now() - question.createdAt });
    asker?.resolve(answer);
    return question;
  }

  /** Whoever was asked answered with an error, which goes back to the server; `false` if the question is over already. */
  refuse(id: string, error: RpcFailure): boolean {
    if (!this.#open.has(id)) return false;
    this.#settle(id, { type: 'refuse', error });
    return true;
  }

  /** Whether a question is open that was asked before that moment. */
  anyOpenSince(moment: number): boolean {
    return [...this.#open.values()].some(({ question }) => !question.hidden && question.createdAt <= moment);
  }

  find(id: string): Question | undefined {
    return this.#open.get(id)?.question;
  }

  /** Open questions of a task, or of a call that is none yet. */
  of(owner: { taskId: string } | { callId: string }): Question[] {
    return this.#questions().filter((question) =>
      'taskId' in owner ? question.taskId === owner.taskId : question.callId === owner.callId,
    );
  }

  /** A call has become a task, and with it what it asked before. */
  assign(callId: string, taskId: string): void {
    for (const entry of this.#open.values()) {
      if (entry.question.callId !== callId || entry.question.taskId !== undefined) continue;
      entry.question = { ...entry.question, taskId };
      this.#store.put('question', entry.question);
    }
  }

  /** The client uses a server: whatever this asks outside of calls may concern the client. */
  serverUsed(server: string): void {
    this.#usedAt.set(server, Date.now());
    for (const { question } of this.#open.values()) {
      if (!question.hidden || question.server !== server) continue;
      const { hidden: _hidden, ...shown } = question;
      this.update(shown);
      this.#addEvent(shown);
      this.desks.offer(shown);
    }
  }

  /** Its client has it now: it may answer any time. */
  show(id: string): void {
    const entry = this.#open.get(id);
    if (entry) entry.shown = true;
  }

  isShown(id: string): boolean {
    return this.#open.get(id)?.shown === true;
  }

  /** What is known of the owner of an open question has changed. */
  update(question: Question): void {
    const entry = this.#open.get(question.id);
    if (entry === undefined) return;
    entry.question = question;
    this.#store.put('question', question);
  }

  get(id: string, kind: QuestionKind): Question {
    const entry = this.#open.get(id);
    if (entry?.question.kind === kind) return entry.question;
    throw new GatewayError(
      'TOOL_ERR_REQUEST_NOT_FOUND',
      `no open ${kind} request '${id}' in this session: it was answered, withdrawn or has expired, or never was here; ` +
        `${kind === 'elicitation' ? 'get_elicitations' : 'get_sampling_requests'} shows what is open`,
    );
  }

  list(kind: QuestionKind, server?: string): Question[] {
    return this.#questions().filter(
      (question) => question.kind === kind && !question.hidden && (server === undefined || question.server === server),
    );
  }

  /** Open questions that this call has asked, or may have asked. */
  mayBlock(callId: string): Question[] {
    return this.#questions().filter(
      (question) => question.callId === callId || question.candidates?.calls.includes(callId) === true,
    );
  }

  /** Rejects every open question that matches. */
  rejectWhere(matching: (question: Question) => boolean, reason: string): number {
    const doomed = this.#questions().filter(matching);
    for (const { id } of doomed) this.#settle(id, { type: 'reject', reason });
    this.#overtake(matching, reason);
    return doomed.length;
  }

  /** Nobody will ask again for what belonged to this task. */
  taskEnded(taskId: string): void {
    this.rejectWhere((question) => question.taskId === taskId && !question.borrowed, 'the call has ended');
    this.#settled.taskEnded(taskId);
  }

  /** A request that is no call is over, and with it what it asked; its server may not get to say so. */
  requestEnded(callId: string): void {
    this.rejectWhere((question) => question.callId === callId && !question.borrowed, 'the request has ended');
  }

  /** What nobody has asked again by now, nobody will. */
  allAsked(taskId: string): void {
    const left = this.#notAskedAgain().filter((question) => question.taskId === taskId);
    for (const { id } of left) this.#settle(id, { type: 'reject', reason: 'withdrawn by the server' });
  }

  /** Timers stand still while the machine sleeps; deadlines do not. */
  sweep(): void {
    this.#expireDue();
  }

  get size(): number {
    return this.#open.size;
  }

  /** `keeps` tells which questions the next run of the program will want; all others are over. */
  close(reason: string, keeps: (question: Question) => boolean): void {
    for (const { question, asker } of [...this.#open.values()].filter((entry) => keeps(entry.question))) {
      this.#open.delete(question.id);
      // Nothing more: the server would take a rejection for an answer.
      asker?.stopListening();
    }
    this.rejectWhere((question) => !keeps(question), reason);
    this.#alarm.stop();
  }

  #questions(): Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /** Of an earlier run of the program, and not asked again by the server yet. */
  #notAskedAgain(): Question[] {
    return [...this.#open.values()].filter(({ asker }) => asker === undefined).map(({ question }) => question);
  }

  #announce(question: Question): void {
    const { id, kind, server, expiresAt, hidden } = question;
    this.#store.put('question', question);
    this.#alarm.at(expiresAt);
    if (!hidden) this.#addEvent(question);
    this.#log.info(`${kind}_received`, { requestId: id, server, ...(hidden && { hidden }) });
  }

  #addEvent({ id, kind, server }: Question): void {
    if (kind !== 'roots') this.#events.add(`${kind}_request`, server, { requestId: id });
  }

  /**
   * Some proxies send every question of their server to all clients. A client that has not used the server lately cannot
   * have caused the question, and is not shown it. It is not refused either: another client may be about to answer it.
   */
  #hiddenUnlessUsed(question: Question): Question {
    const { server, callId, taskId, candidates } = question;
    if (callId !== undefined || taskId !== undefined || candidates !== undefined) return question;
    const usedAt = this.#usedAt.get(server);
    return usedAt !== undefined && Date.now() - usedAt < RECENT_USE_MS ? question : { ...question, hidden: true };
  }

  #newQuestion(server: string, incoming: IncomingQuestion): Question {
    const { kind, params, timeoutMs, detached, key, callId, taskId } = incoming;
    const candidates = candidatesOf(incoming);
    const now = Date.now();
    return {
      id: secretId(),
      sessionId: this.#sessionId,
      server,
      kind,
      params,
      status: 'open',
      createdAt: now,
      expiresAt: now + (timeoutMs ?? this.#settings.timeoutMs),
      ...(detached && { detached }),
      ...(key !== undefined && { key }),
      ...(callId !== undefined && { callId }),
      ...(candidates !== undefined && { candidates }),
      ...(taskId !== undefined && { taskId }),
    };
  }

  /** The same question, asked by the same task before the program was started again. */
  #askedBefore({ key, callId, taskId: asking, params }: IncomingQuestion): Question | undefined {
    const taskId = callId === undefined ? asking : this.taskOf(callId);
    if (key === undefined || taskId === undefined) return undefined;
    const isSame = (question: Question): boolean => question.taskId === taskId && question.key === key;
    const earlier = this.#notAskedAgain().find(isSame) ?? this.#settled.find(isSame);
    return earlier !== undefined && isDeepStrictEqual(earlier.params, params) ? earlier : undefined;
  }

  #close(id: string, event: QuestionEvent): Entry {
    const entry = this.#open.get(id);
    const settled = entry && settleQuestion(entry.question, event);
    if (entry === undefined || settled === undefined) throw new Error(`question ${id} is not open`);
    this.#open.delete(id);
    this.#budget.give(entry.bytes);
    this.desks.over(id, event.type === 'reject' ? event.words : undefined);
    if (event.type !== 'answer') entry.asker?.stopListening();
    this.#store.drop('question', id);
    entry.question = settled;
    this.onClosed(settled);
    return entry;
  }

  #overtake(matching: (question: Question) => boolean, reason: string): void {
    for (const answering of this.#answering.values())
      if (matching(answering.question)) answering.overtakenBy ??= reason;
  }

  /** Ends a question that nobody answered. */
  #settle(id: string, event: Exclude<QuestionEvent, { type: 'answer' }>): void {
    const { question, asker } = this.#close(id, event);
    const reason = question.reason ?? question.status;
    if (question.kind !== 'roots' && !question.hidden) {
      this.#events.add(`${question.kind}_expired`, question.server, { requestId: id, reason });
    }
    if (event.type === 'expire') {
      this.#settled.keep(question);
      this.#log.warn(`${question.kind}_timeout`, { requestId: id, server: question.server });
    }
    asker?.reject(notAnswered(question));
  }

  #expireDue(): void {
    const now = Date.now();
    for (const { question } of this.#open.values()) {
      if (question.expiresAt > now) this.#alarm.at(question.expiresAt);
      else this.#settle(question.id, { type: 'expire' });
    }
  }
}

/** A question that was asked with a task is opened a moment after it came: by then some requests may have ended. */
function candidatesOf({ candidates, othersEnded }: IncomingQuestion): Candidates | undefined {
  if (candidates === undefined || !othersEnded?.aborted || candidates.calls.length === 0) return candidates;
  return { ...candidates, others: false };
}

function notAnswered({ kind, status, error, reason = status }: Question): Error {
  if (error !== undefined) return new RpcError(error.code, error.message, error.data);
  return new Error(`${kind} request not answered: ${reason}`);
}

/** An abort that gives no reason of its own comes with a standard one, which says nothing. */
function withdrawal({ reason }: AbortSignal): { reason: string; words?: string } {
  if (typeof reason === 'string') return { reason: 'withdrawn by the server', words: reason };
  const given = reason instanceof Error && reason.name !== 'AbortError';
  return { reason: given ? `withdrawn: ${reason.message}` : 'withdrawn by the server' };
}
