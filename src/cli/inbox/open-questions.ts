import { ApiFailure, type ApiClient } from '../gateway/api-client.ts';
import type { Question } from '../../lib/api-items.ts';
import { follow } from '../gateway/follow.ts';

/** More are read when some of these have ended. */
const MOST = 500;
const NOT_FOUND = 404;

/** The open questions of a gateway, kept up to date. */
export class OpenQuestions {
  /** The gateway is unreachable for this reason; an empty string once it is back. */
  onAway: (reason: string) => void = () => {};
  readonly #api: ApiClient;
  readonly #over: AbortSignal;
  readonly #open = new Map<string, Question>();
  /** The controllers of questions being asked; aborted with the question once it has ended. */
  readonly #asked = new Map<string, AbortController>();
  #more = false;
  #onChange: (() => void) | undefined;

  constructor(api: ApiClient, over: AbortSignal) {
    this.#api = api;
    this.#over = over;
    over.addEventListener('abort', () => this.#onChange?.(), { once: true });
  }

  /** Oldest first. */
  get list(): Question[] {
    return [...this.#open.values()].toSorted((a, b) => a.createdAt - b.createdAt);
  }

  /** There are even more than in the list. */
  get more(): boolean {
    return this.#more;
  }

  /** Resolves once the questions are known; they are kept up to date until the signal is aborted. */
  async start(): Promise<void> {
    await this.#load();
    void follow(this.#api, {
      signal: this.#over,
      onOpen: async () => {
        await this.#load();
        this.onAway('');
      },
      onChange: (change) => {
        if (change.kind === 'question') this.#changed(change.item);
      },
      onAway: (reason) => this.onAway(reason),
    });
  }

  /** Aborted with the question as its reason when that has ended. */
  ended(id: string): AbortSignal {
    const controller = this.#asked.get(id) ?? new AbortController();
    this.#asked.set(id, controller);
    return controller.signal;
  }

  /** The question is no longer being asked. */
  leave(id: string): void {
    this.#asked.delete(id);
  }

  /** Resolves when a question has arrived or ended, or when following has stopped. */
  async change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onChange = resolve;
      if (this.#over.aborted) resolve();
    });
  }

  async #load(): Promise<void> {
    const { items, more } = await this.#api.list<Question>('questions', { status: 'open' }, MOST);
    const gone = [...this.#asked.keys()].filter((id) => !items.some((item) => item.id === id));
    this.#open.clear();
    for (const item of items) this.#open.set(item.id, item);
    this.#more = more;
    for (const id of gone) await this.#look(id);
    this.#onChange?.();
  }

  /** The ended question; one that is no longer in the history has ended too. */
  async #look(id: string): Promise<void> {
    try {
      this.#changed(await this.#api.get<Question>(`questions/${encodeURIComponent(id)}`));
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== NOT_FOUND) throw error;
      this.#asked.get(id)?.abort();
    }
  }

  #changed(question: Question): void {
    if (question.status === 'open') this.#open.set(question.id, question);
    else {
      this.#open.delete(question.id);
      this.#asked.get(question.id)?.abort(question);
      this.#asked.delete(question.id);
      // Questions beyond the list move up.
      if (this.#more && this.#open.size < MOST / 2) {
        this.#more = false;
        this.#load().catch((error: unknown) => this.onAway(String(error)));
      }
    }
    this.#onChange?.();
  }
}
