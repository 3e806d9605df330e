import type { Clock } from '../../lib/clock.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import type { Budget } from '../budget.ts';
import type { EventSink } from '../event/log.ts';
import type { AnswerSource } from '../history/entry.ts';
import type { SessionNotifier } from '../notify/session-notifier.ts';
import type { AnsweredVia, Observed, ObservedQuestion } from '../observer.ts';
import type { SessionStore } from '../ports/store.ts';
import type { Answerer, SessionListener } from '../session/session-listener.ts';
import type { Quota } from '../shared-limit.ts';
import type { TaskBook } from '../task/book.ts';
import { isBlocked } from '../task/task.ts';
import { notAnswered } from './asked.ts';
import type { OpenCalls } from './client-activity.ts';
import type { Answer, OpenInteraction } from './interaction.ts';
import { blockedTasks, requestOf, type Blocking } from './link.ts';
import { reduce, type Effect, type RoutedInteraction, type RouterEvent } from './reducer.ts';
import type { Responders } from './responders.ts';

interface ShellParts {
  store: SessionStore;
  tasks: TaskBook;
  calls: OpenCalls;
  /** Receives interactions, and their ends if they were not answered. */
  events: EventSink;
  budget: Budget;
  /** The principal's quota of open questions; absent without one. */
  quota: Quota | undefined;
  observed: Observed;
  recorder: SessionListener | undefined;
  notifier: SessionNotifier | undefined;
  /** Called when the first interaction arrives, and when the last one ends. */
  onOccupied: (occupied: boolean) => void;
  clock: Clock;
}

/** Connects an interaction to the server that asked, and delivers the answer. */
export interface AnswerSink {
  onAnswered: (() => void) | undefined;
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  stopListening: () => void;
}

export interface ShellEntry {
  state: RoutedInteraction;
  /** Its bytes in the budget. */
  bytes: number;
  /** Absent after a restart, until the server has asked again. */
  asker?: AnswerSink;
  /** How an answer or refusal arrived, and from whom if not from the principal of the session. */
  by?: Answerer<AnsweredVia>;
}

/**
 * The shell around the reducer: holds the interactions of one session, has `reduce` decide what an event does to one of them,
 * and runs the effects. It is the only part that knows which tasks wait for which interactions.
 */
export class InteractionShell {
  readonly #entries = new LazyMap<string, ShellEntry>();
  readonly #parts: ShellParts;
  readonly #responders: Responders;

  constructor(parts: ShellParts, responders: Responders) {
    this.#parts = parts;
    this.#responders = responders;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  entry(id: string): Readonly<ShellEntry> | undefined {
    return this.#entries.get(id);
  }

  /** All entries, including those being answered and those that may be repeated by key. */
  entries(): IterableIterator<[id: string, entry: Readonly<ShellEntry>]> {
    return this.#entries[Symbol.iterator]();
  }

  open(): OpenInteraction[] {
    // The usual case, checked by each direct call.
    if (this.#entries.size === 0) return [];
    return [...this.#entries.values()].flatMap(({ state }) => (state.phase === 'open' ? [state.interaction] : []));
  }

  /** The open interaction of this id. */
  find(id: string): OpenInteraction | undefined {
    const state = this.#entries.get(id)?.state;
    return state?.phase === 'open' ? state.interaction : undefined;
  }

  /** `by`: who answers, or refuses to. */
  dispatch(id: string, event: RouterEvent, by?: Answerer<AnsweredVia>): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    if (by !== undefined) entry.by = by;
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

  /** Restores an interaction after a restart. */
  restore(id: string, entry: ShellEntry): void {
    this.keep(id, entry);
    this.#record(entry, { restored: true });
  }

  keep(id: string, entry: ShellEntry): void {
    if (entry.state.phase === 'open' && !this.#entries.has(id)) this.#parts.quota?.take();
    this.#entries.set(id, entry);
    if (this.#entries.size === 1) this.#parts.onOccupied(true);
  }

  /** Drops it silently: the server would take a rejection for an answer. */
  leave(id: string): void {
    this.#entries.get(id)?.asker?.stopListening();
    this.#forget(id);
  }

  #forget(id: string): void {
    if (this.#entries.delete(id) && this.#entries.size === 0) this.#parts.onOccupied(false);
  }

  #closed(entry: ShellEntry): void {
    this.#parts.quota?.release();
    this.#parts.budget.give(entry.bytes);
    entry.bytes = 0;
  }

  /** Reports the end of an interaction to the observer. */
  #observe({ by }: ShellEntry, before: Unsettled, outcome: ObservedQuestion['outcome']): void {
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

  /** Records an unsettled interaction in the history, and notifies people. */
  #record({ state, by }: ShellEntry, { restored = false } = {}): void {
    const { recorder, notifier } = this.#parts;
    if (state.phase === 'settled') return;
    const { id } = state.interaction;
    if (state.phase === 'open') {
      const { handledBy } = state.interaction;
      const isAsked = state.presented || (this.#responders.isClaimed(id) && handledBy === undefined);
      recorder?.questionChanged(state.interaction, isAsked, restored);
      // People are not notified of questions that a rule or a model answers, unless that fails.
      if (handledBy === undefined) notifier?.questionChanged(state.interaction, isAsked);
    } else if (by !== undefined) recorder?.questionAnswered(id, { ...by, via: SOURCES[by.via] });
  }

  #recordEnd(
    { by }: ShellEntry,
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

  #run(entry: ShellEntry, effect: Effect): void {
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
          this.dispatch(id, { type: 'unclaimed' });
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

  /** Updates the tasks whose blocking has changed. */
  #updateBlocking(before: RoutedInteraction | undefined, after: RoutedInteraction | undefined): void {
    const was = tasksBlockedBy(before);
    const is = tasksBlockedBy(after);
    for (const taskId of new Set([...was.keys(), ...is.keys()])) {
      if (was.get(taskId) === is.get(taskId)) continue;
      this.#parts.tasks.apply(taskId, { type: 'blocked', by: this.#blocking(taskId) });
    }
  }

  /** After a restart: recomputes which tasks are blocked; tasks of rejected interactions continue. */
  restoreBlocking(): void {
    const { tasks } = this.#parts;
    for (const task of tasks.atWork()) {
      const by = this.#blocking(task.id);
      if (by !== undefined || isBlocked(task)) tasks.apply(task.id, { type: 'blocked', by });
    }
  }

  #blocking(taskId: string): Blocking | undefined {
    const found = [...this.#entries.values()].flatMap(({ state }) => tasksBlockedBy(state).get(taskId) ?? []);
    return found.includes('certain') ? 'certain' : found[0];
  }
}

const NOT_BLOCKED: ReadonlyMap<string, Blocking> = new Map();

function tasksBlockedBy(state: RoutedInteraction | undefined): ReadonlyMap<string, Blocking> {
  if (state?.phase !== 'open' || state.interaction.handledBy !== undefined) return NOT_BLOCKED;
  return blockedTasks(state.interaction.link);
}

type Unsettled = Exclude<RoutedInteraction, { phase: 'settled' }>;

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

/** A settled interaction matters only if the server can repeat it by key. */
function isWorthKeeping({ phase, interaction }: RoutedInteraction): boolean {
  return phase === 'open' || interaction.key !== undefined;
}
