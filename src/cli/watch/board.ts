import type { ApiClient } from '../gateway/api-client.ts';
import type { Call, Question } from '../../lib/api-items.ts';
import type { GatewayChange } from '../gateway/follow.ts';

/** How many of each kind are read; a screen shows fewer. */
const MOST = 200;
const MOST_ENDED = 50;

/** The work of a gateway: open questions, calls that run, and calls that have ended. */
export class Board {
  readonly #questions = new Map<string, Question>();
  readonly #calls = new Map<string, Call>();
  /** Newest first. */
  #ended: Call[] = [];

  /** Replaces the current contents. */
  async load(api: ApiClient): Promise<void> {
    const calls = async (status: string, most: number): Promise<Call[]> =>
      (await api.list<Call>('calls', { status }, most)).items.filter(isCall);
    const [questions, running, waiting, ended] = await Promise.all([
      api.list<Question>('questions', { status: 'open' }, MOST),
      calls('running', MOST),
      calls('waiting', MOST),
      calls('ended', MOST_ENDED),
    ]);
    this.#questions.clear();
    this.#calls.clear();
    for (const question of questions.items) this.#questions.set(question.id, question);
    for (const call of [...running, ...waiting]) this.#calls.set(call.id, call);
    this.#ended = ended;
  }

  apply(change: GatewayChange): void {
    if (change.kind === 'question') this.#question(change.item);
    else if (change.kind === 'call' && isCall(change.item)) this.#call(change.item);
  }

  /** Oldest first: they have waited longest. */
  get questions(): Question[] {
    return [...this.#questions.values()].toSorted((a, b) => a.createdAt - b.createdAt);
  }

  /** Newest first. */
  get calls(): Call[] {
    return [...this.#calls.values()].toSorted((a, b) => b.startedAt - a.startedAt);
  }

  get ended(): readonly Call[] {
    return this.#ended;
  }

  #question(question: Question): void {
    if (question.status === 'open') this.#questions.set(question.id, question);
    else this.#questions.delete(question.id);
  }

  #call(call: Call): void {
    if (call.status === 'running' || call.status === 'waiting') {
      this.#calls.set(call.id, call);
      return;
    }
    this.#calls.delete(call.id);
    this.#ended = [call, ...this.#ended.filter(({ id }) => id !== call.id)].slice(0, MOST_ENDED);
  }
}

/** Summaries of many calls are for the timeline. */
export const isCall = (item: { id: string }): item is Call => 'status' in item;
