import { randomUUID } from 'node:crypto';
import type {
  CreateMessageRequestParamsBase,
  ElicitRequestFormParams,
  ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { ToolFault, type ToolResult, type Work } from '../tasks/tool.ts';

type Json = Record<string, unknown>;

type State =
  | { status: 'working' }
  | { status: 'completed'; result: ToolResult }
  | { status: 'failed'; error: { code: number; message: string; data?: unknown } }
  | { status: 'cancelled' };

interface Asked {
  readonly request: Json;
  readonly answer: (response: object) => void;
}

const TTL_MS = 600_000;

/** A task of the extension. It is told as `input_required` while it has open questions. */
export class ExtensionTask implements Work {
  readonly taskId = randomUUID();
  readonly released: Promise<void>;
  readonly #over = new AbortController();
  readonly #asked = new Map<string, Asked>();
  readonly #createdAt = new Date().toISOString();
  readonly #pollMs: number;
  readonly #onChange: (task: ExtensionTask) => void;
  #state: State = { status: 'working' };
  #message: string | undefined;
  #updatedAt = this.#createdAt;
  #questions = 0;

  constructor(released: Promise<void>, pollMs: number, onChange: (task: ExtensionTask) => void) {
    this.released = released;
    this.#pollMs = pollMs;
    this.#onChange = onChange;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get hasEnded(): boolean {
    return this.#state.status !== 'working';
  }

  async run(tool: (work: Work) => Promise<ToolResult>): Promise<void> {
    const stopped = new Promise<never>((_resolve, reject) => {
      this.signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
    });
    try {
      this.#end({ status: 'completed', result: await Promise.race([tool(this), stopped]) });
    } catch (error) {
      const { code, data } = error instanceof ToolFault ? error : { code: -32603, data: undefined };
      const { message } = error as Error;
      this.#end({ status: 'failed', error: { code, message, ...(data !== undefined && { data }) } });
    }
  }

  cancel(): void {
    this.#end({ status: 'cancelled' });
    this.#over.abort();
  }

  /** Answers to questions that are not open are ignored. */
  update(responses: Readonly<Record<string, unknown>>): void {
    for (const [key, response] of Object.entries(responses)) {
      const asked = this.#asked.get(key);
      if (asked === undefined || !this.#asked.delete(key)) continue;
      asked.answer(response as object);
    }
    this.#changed();
  }

  /** What `tools/call` answers. */
  summary(): Json {
    return {
      taskId: this.taskId,
      status: this.#asked.size > 0 && !this.hasEnded ? 'input_required' : this.#state.status,
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ttlMs: TTL_MS,
      pollIntervalMs: this.#pollMs,
    };
  }

  /** What `tasks/get` answers. */
  detailed(): Json {
    if (this.#state.status === 'completed') {
      return { ...this.summary(), result: { resultType: 'complete', ...this.#state.result } };
    }
    if (this.#state.status === 'failed') return { ...this.summary(), error: this.#state.error };
    const requests = [...this.#asked].map(([key, { request }]) => [key, request] as const);
    return { ...this.summary(), ...(requests.length > 0 && { inputRequests: Object.fromEntries(requests) }) };
  }

  async say(message: string): Promise<void> {
    this.#message = message;
    this.#changed();
  }

  /** The extension has no progress of its own. */
  progress(_progress: number, _total: number, message: string): Promise<void> {
    return this.say(message);
  }

  elicit(params: ElicitRequestFormParams): Promise<ElicitResult> {
    return this.#ask('elicitation/create', params) as Promise<ElicitResult>;
  }

  sample(params: CreateMessageRequestParamsBase): Promise<object> {
    return this.#ask('sampling/createMessage', params);
  }

  #ask(method: string, params: object): Promise<object> {
    this.#questions += 1;
    const key = `question-${this.#questions}`;
    return new Promise((answer) => {
      this.#asked.set(key, { request: { method, params }, answer });
      this.#changed();
    });
  }

  #end(state: State): void {
    if (this.hasEnded) return;
    this.#state = state;
    this.#changed();
  }

  #changed(): void {
    this.#updatedAt = new Date().toISOString();
    this.#onChange(this);
  }
}
