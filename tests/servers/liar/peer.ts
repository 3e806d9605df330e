export type Json = Record<string, unknown>;

/** Whoever sent the request that is to be answered. */
export interface Peer {
  /** What comes here is sent as it is, be it a result or not. */
  reply(result: unknown): void;
  fail(code: number, message: string): void;
  /** A notification before the answer. */
  notify(method: string, params: Json): void;
  /** A request before the answer; resolves with what came back: its `result`, or its `error`. */
  ask(method: string, params: unknown): Promise<Json>;
}

/** What was asked, by its id, and who waits for the answer. */
export type Asked = Map<unknown, (answer: Json) => void>;

/** Whoever sent the request of that id; `end` says the last word, which may need another way. */
export function peerBy(id: unknown, asked: Asked, say: (message: Json) => void, end = say): Peer {
  return {
    reply: (result) => end({ id, result }),
    fail: (code, message) => end({ id, error: { code, message } }),
    notify: (method, params) => say({ method, params }),
    ask: (method, params) => {
      const question = `question-${asked.size + 1}`;
      return new Promise((resolve) => {
        asked.set(question, ({ result, error }) => resolve((result ?? error ?? {}) as Json));
        say({ id: question, method, params });
      });
    },
  };
}

/** What a tool does, and what becomes of the task it makes. What is missing is done as it should be. */
export interface Lie {
  readonly taskSupport?: 'optional' | 'required';
  call(peer: Peer, call: Call): void | Promise<void>;
  /** The answer to the `poll`th `tasks/get`. */
  get?(peer: Peer, taskId: string, poll: number): void;
  result?(peer: Peer, taskId: string): void | Promise<void>;
  update?(peer: Peer, taskId: string, responses: Json): void;
}

export interface Call {
  /** A name that no other call has. */
  readonly taskId: string;
  readonly args: Json;
  readonly progressToken: unknown;
  /** What the client carries from the round before. */
  readonly inputResponses: Json | undefined;
}

export function text(value: string): Json {
  return { content: [{ type: 'text', text: value }] };
}

/** Leaves the request without an answer. */
export const silence = (): void => {};

const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

/** Parameters of questions that cannot be what their server meant. */
export const BROKEN_QUESTIONS: Record<string, unknown> = {
  'schema is a string': { message: 'Well?', requestedSchema: 'string' },
  'properties are a list': { message: 'Well?', requestedSchema: { type: 'object', properties: ['name'] } },
  'message is missing': { requestedSchema: NAME },
  'schema is missing': { message: 'Well?' },
};

export function nameQuestion(message: string): Json {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: NAME } };
}

export function brokenQuestion({ args }: Call): Json {
  return { method: 'elicitation/create', params: BROKEN_QUESTIONS[String(args['how'])] };
}
