/** What the servers for the conformance suite can do, told once for both eras. */

export type Json = Record<string, unknown>;

/** What a request asks its client while it runs. */
export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: Json;
}

export type List = 'tools' | 'prompts';

/** A request that is being answered, or the task that it became. */
export interface Call {
  /** What the client declared. */
  readonly capabilities: Json;
  /** Aborted when the call was cancelled. */
  readonly signal: AbortSignal;
  /** Asks all of it at once, and goes on when all of it is answered. */
  ask(questions: Record<string, Question>): Promise<Record<string, Json>>;
  progress(progress: number, total: number): Promise<void>;
  log(data: string): Promise<void>;
  /** Tells every client that listens. */
  changed(list: List): Promise<void>;
}

/** An error that goes over the wire as it is. */
export class Fault extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const INVALID_PARAMS = -32602;
export const METHOD_NOT_FOUND = -32601;
export const INTERNAL_ERROR = -32603;
export const MISSING_CAPABILITY = -32021;

export function elicit(
  message: string,
  properties: Record<string, Json>,
  required = Object.keys(properties),
): Question {
  const requestedSchema = { type: 'object', properties, required };
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

export function sample(prompt: string): Question {
  const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
}

export const LIST_ROOTS: Question = { method: 'roots/list', params: {} };

/** A field of a form that was filled in. */
export function field(answer: Json | undefined, name: string): string {
  const content = (answer?.['content'] ?? {}) as Record<string, string | number | boolean>;
  return String(content[name] ?? 'unknown');
}
