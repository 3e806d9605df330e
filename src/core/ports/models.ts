/** Models that answer sampling requests. `models` implements this interface. */
import type { Answer } from '../interaction/interaction.ts';

export interface ModelReply {
  /** A `CreateMessageResult`. */
  answer: Answer;
  /** The tokens used by prompt and answer together. */
  tokens: number;
}

/** The models of the config. */
export interface Models {
  /**
   * Lets a model answer a sampling request. Rejects with a human-readable reason that contains no key; with `ModelRefused` if
   * the endpoint did not accept the request.
   */
  ask(model: string, params: Record<string, unknown>, signal: AbortSignal): Promise<ModelReply>;
}

/** The endpoint refused the request, which has used no tokens. */
export class ModelRefused extends Error {}
