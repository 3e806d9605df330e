import type { Question } from './question.ts';

/**
 * Somebody who can put a question before whoever is to answer it, right now. Tells whether it takes this one; `over` is
 * aborted when the answer is not wanted any more, because it came another way or the question is over; a server that took it back
 * may have said why.
 */
export type Desk = (question: Question, over: AbortSignal) => boolean;

/** Whose questions a desk takes: those of one call, of one task, or all that no other desk takes. */
export type Scope = { callId: string } | { taskId: string } | 'any';

interface Place {
  scope: Scope;
  desk: Desk;
}

/** The desks that are open now, and which question lies on which. A question lies on one at most. */
export class Desks {
  readonly #places = new Set<Place>();
  readonly #taken = new Map<string, { place: Place; over: AbortController }>();
  readonly #open: () => Question[];
  /** Told of a question that no desk takes, or whose desk has closed. */
  onUnattended: (question: Question) => void = () => {};

  constructor(open: () => Question[]) {
    this.#open = open;
  }

  /**
   * Opens a desk until the returned function is called; what waits already is laid before it at once. With `handOver` the
   * client is still there although the desk closes: it keeps a question that it has been asked, if another of its calls may
   * have asked that question.
   */
  attend(scope: Scope, desk: Desk): (options?: { handOver?: boolean }) => void {
    const place: Place = { scope, desk };
    this.#places.add(place);
    for (const question of this.#open()) {
      if (matches(place, question) && !this.#taken.has(question.id)) this.#lay(question, place);
    }
    return ({ handOver = false } = {}) => {
      if (!this.#places.delete(place) || this.#taken.size === 0) return;
      const left = this.#open().filter(({ id }) => this.#taken.get(id)?.place === place);
      const released = handOver ? left.filter((question) => !this.#handOver(question)) : left;
      for (const { id } of released) this.over(id);
      for (const question of released) this.offer(question);
    };
  }

  /** Looks for a desk: first that of the call, then that of the task, then any. */
  offer(question: Question): void {
    if (this.#taken.has(question.id)) return;
    if (!this.#find(question)) this.onUnattended(question);
  }

  /** A desk may be able to take now what it could not take before. */
  offerAgain(): void {
    for (const question of this.#open()) {
      if (!this.#taken.has(question.id)) this.#find(question);
    }
  }

  isAttended(questionId: string): boolean {
    return this.#taken.has(questionId);
  }

  /** The question is over, or its desk has closed; `words`: why, as the server said it. */
  over(questionId: string, words?: string): void {
    const taken = this.#taken.get(questionId);
    this.#taken.delete(questionId);
    taken?.over.abort(words);
  }

  /** Whoever sits at its desk cannot reach anybody any more; somebody else may. */
  release(questionId: string): void {
    const question = this.#open().find(({ id }) => id === questionId);
    this.over(questionId);
    if (question) this.offer(question);
  }

  /** Leaves a question where it was put before the client; another call of that client now answers for it. */
  #handOver(question: Question): boolean {
    const next = [...this.#places].find((place) => isOfCall(place, question));
    const taken = this.#taken.get(question.id);
    if (next === undefined || taken === undefined) return false;
    this.#taken.set(question.id, { ...taken, place: next });
    return true;
  }

  #find(question: Question): boolean {
    const places = [...this.#places].filter((place) => matches(place, question)).toSorted(byNearness);
    return places.some((place) => this.#lay(question, place));
  }

  #lay(question: Question, place: Place): boolean {
    const over = new AbortController();
    // First on record: a desk may have the answer at once.
    this.#taken.set(question.id, { place, over });
    if (place.desk(question, over.signal)) return true;
    this.#taken.delete(question.id);
    return false;
  }
}

function matches(place: Place, question: Question): boolean {
  const { scope } = place;
  if (scope === 'any') return true;
  return 'callId' in scope ? isOfCall(place, question) : scope.taskId === question.taskId;
}

/** Whether the place is that of the call that asked, or of one that may have asked where this is not known. */
function isOfCall({ scope }: Place, { callId, candidates }: Question): boolean {
  if (scope === 'any' || !('callId' in scope)) return false;
  return callId === undefined ? candidates?.calls.includes(scope.callId) === true : scope.callId === callId;
}

function byNearness(a: Place, b: Place): number {
  return distance(a.scope) - distance(b.scope);
}

function distance(scope: Scope): number {
  if (scope === 'any') return 2;
  return 'callId' in scope ? 0 : 1;
}
