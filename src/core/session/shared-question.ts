import type { ConnectionSink, IncomingQuestion } from '../ports/connection.ts';
import type { Answer } from '../interaction/interaction.ts';

/** A session that shares the server. */
export interface Member {
  readonly sink: ConnectionSink;
  /** Its open requests: calls by id, then all others. */
  readonly calls: Pick<ReadonlySet<string>, 'has' | 'size'>;
  readonly others: ReadonlySet<string | symbol>;
}

/** The question in one session. */
interface Part {
  sink: ConnectionSink;
  /** The calls of this session that may have asked when the question arrived. */
  calls: string[];
  /** The open requests of this session that may have asked; `undefined` if the question names no requests. */
  open: Set<string | symbol> | undefined;
  /** Aborted when the question is no longer for this session. */
  withdrawn: AbortController;
  /** Aborted when nothing but the session's own calls can have asked. */
  othersEnded: AbortController;
}

/**
 * A question that requests of several sessions may have asked. Each of these sessions is asked, the first answer counts,
 * and the question is withdrawn from a session when none of its requests can have asked it any more. Each session treats the
 * requests of the others as unknown requests.
 */
export class SharedQuestion {
  readonly #question: IncomingQuestion;
  readonly #parts: readonly Part[];

  constructor(question: IncomingQuestion, members: readonly Member[]) {
    this.#question = question;
    const { candidates, othersEnded } = question;
    this.#parts = members.map(({ sink, calls, others }) => {
      const asking = candidates?.calls.filter((id) => calls.has(id)) ?? [];
      return {
        sink,
        calls: asking,
        open: candidates && new Set([...asking, ...(candidates.others ? others : [])]),
        withdrawn: new AbortController(),
        othersEnded: new AbortController(),
      };
    });
    othersEnded?.addEventListener('abort', () => this.#reconsider(), { once: true });
  }

  async answer(): Promise<Answer> {
    try {
      return await Promise.any(this.#parts.map(async (part) => this.#answerOf(part)));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  requestEnded(id: string | symbol): void {
    for (const { open, withdrawn } of this.#parts) {
      if (open?.delete(id) && open.size === 0) withdrawn.abort(new Error('the request has ended'));
    }
    this.#reconsider();
  }

  async #answerOf(part: Part): Promise<Answer> {
    try {
      return await part.sink.question(this.#asPartOf(part));
    } catch (error) {
      part.withdrawn.abort();
      this.#reconsider();
      throw error;
    }
  }

  #asPartOf(part: Part): IncomingQuestion {
    const { candidates, withdrawn } = this.#question;
    return {
      ...this.#question,
      ...(candidates && { candidates: { calls: part.calls, others: true } }),
      othersEnded: part.othersEnded.signal,
      withdrawn: AbortSignal.any([withdrawn, part.withdrawn.signal]),
      onAnswered: () => this.#answeredBy(part),
    };
  }

  /** Synchronous, so that only one session is told that its answer counts. */
  #answeredBy(part: Part): void {
    for (const { withdrawn } of this.#parts) {
      if (withdrawn !== part.withdrawn) withdrawn.abort(new Error('answered in another session'));
    }
  }

  #reconsider(): void {
    const { candidates, othersEnded } = this.#question;
    const [last, ...more] = this.#parts.filter(({ withdrawn }) => !withdrawn.signal.aborted);
    if (more.length === 0 && (!candidates?.others || othersEnded?.aborted)) last?.othersEnded.abort();
  }
}
