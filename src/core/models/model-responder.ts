/** Answers sampling requests that no client can answer with the models of the config. */

import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { NOT_ANSWERED } from '../../lib/rpc-error.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import type { Responder } from '../interaction/responders.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import { ModelRefused, type Models } from '../ports/models.ts';
import type { SessionStore, Store } from '../ports/store.ts';
import { spend } from './daily-budget.ts';
import { chooseModels, type ModelClient, type ModelSettings } from './choose.ts';
import { reviewPrompt } from './review.ts';

export interface ModelResponderParts {
  models: Models;
  settings: Readonly<Record<string, ModelSettings>>;
  /** The client for which the server asks. */
  clientOf: (server: string) => ModelClient;
  interactions: () => InteractionRouter;
  store: Pick<SessionStore, 'settled' | 'isLost'>;
  counters: Pick<Store, 'addToCounter'>;
  log: Log;
  clock: Clock;
}

export class ModelResponder {
  readonly #parts: ModelResponderParts;
  readonly #closed = new AbortController();

  constructor(parts: ModelResponderParts) {
    this.#parts = parts;
  }

  /** Whether there is a model for it. */
  takes({ kind, server, params }: Pick<OpenInteraction, 'kind' | 'server' | 'params'>): boolean {
    return kind === 'sampling' && this.#choose(server, params).length > 0;
  }

  readonly respond: Responder = (question, over) => {
    void this.#answer(question, AbortSignal.any([over, this.#closed.signal]));
    return true;
  };

  /** Stops answering. */
  close(): void {
    this.#closed.abort();
  }

  #choose(server: string, params: Record<string, unknown>): string[] {
    const { settings, clientOf } = this.#parts;
    return chooseModels(settings, clientOf(server), params);
  }

  /** Tries the models in turn; if all fail, leaves the question to people. */
  async #answer(question: OpenInteraction, over: AbortSignal): Promise<void> {
    const { id: requestId, server } = question;
    const { log } = this.#parts;
    const interactions = this.#parts.interactions();
    const failures: string[] = [];
    const left = this.#choose(server, question.params);
    while (left.length > 0) {
      const model = left.shift() ?? '';
      try {
        await this.#ask(question, model, over);
        return;
      } catch (error) {
        // It may have been answered elsewhere, or the answer of the model is being stored.
        if (over.aborted || interactions.find(requestId) === undefined) return;
        // The person may still decide; no other model may get the prompt without their consent.
        if (error instanceof NotDecided) left.length = 0;
        failures.push(`the model '${model}' did not answer: ${messageOf(error)}`);
        const next = left.length === 0 ? 'people' : left[0];
        log.warn('model_failed', { requestId, server, model, error: messageOf(error), next });
      }
    }
    interactions.leaveToPeople(requestId, failures.length === 0 ? undefined : failures.join('; '));
  }

  async #ask(question: OpenInteraction, model: string, over: AbortSignal): Promise<void> {
    const { models, settings, store, counters, log, clock } = this.#parts;
    const { id, server, params } = question;
    const interactions = this.#parts.interactions();
    const { review, budget, maxTokens: most } = settings[model] ?? missing(model);
    // If this gateway dies, the next one asks the model again.
    await store.settled();
    if (review && !over.aborted) {
      const decision = await reviewPrompt(interactions, { question, model, over, clock }).catch((error: unknown) => {
        throw new NotDecided(messageOf(error));
      });
      if (decision === 'refuse') {
        interactions.refuse(id, { code: NOT_ANSWERED, message: 'a person refused the sampling request' });
        return;
      }
      if (decision === 'undecided') throw new NotDecided('no person decided whether to send it the prompt');
    }
    // Another gateway may own the session by now, and asks the model itself.
    if (over.aborted || store.isLost) return;
    const { maxTokens: wanted } = params;
    // A limit below one would bypass the budget.
    const maxTokens = typeof wanted === 'number' && wanted >= 1 ? Math.min(Math.floor(wanted), most) : most;
    const begun = clock.now();
    const about = { requestId: id, server, model };
    const spent = await spend({ counters, now: begun, model, server, budget, maxTokens });
    // A failure here does not discard the answer.
    const used = async (tokens: number): Promise<void> =>
      spent(tokens).catch((error: unknown) =>
        log.warn('model_budget_not_updated', { ...about, error: messageOf(error) }),
      );
    if (over.aborted) return used(0);
    log.info('model_asked', about);
    const { answer, tokens } = await models.ask(model, { ...params, maxTokens }, over).catch(async (error: unknown) => {
      if (error instanceof ModelRefused) await used(0);
      throw error;
    });
    await used(tokens);
    if (over.aborted) return;
    log.info('model_answered', { ...about, tokens, durationMs: clock.now() - begun });
    await interactions.answer(id, 'sampling', answer, 'model', undefined, model);
  }
}

class NotDecided extends Error {}

function missing(model: string): never {
  throw new Error(`model '${model}' is no longer configured`);
}
