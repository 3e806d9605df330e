import { LEAVE_RUNNING, type CallOutcome, type ConnectionSink, type OutgoingCall } from '../core/ports/connection.ts';
import type { Answer, InteractionKind } from '../core/interaction/interaction.ts';
import { unlessAborted, abortSignalOf, type StopSignal } from '../lib/abort.ts';
import { messageOf } from '../lib/log.ts';
import { hasRpcCode, rpcFailure, type RpcFailure } from '../lib/rpc-error.ts';
import { isObject } from '../lib/values.ts';
import { sendQuestion, type Capabilities } from './client-question.ts';
import { withNearestNumbers } from '../lib/exact-json.ts';
import type { Tool } from './definition.ts';
import { QuestionError } from './question-error.ts';
import { runAgain } from './resume-point.ts';
import type { ElicitResult, RunningTask, SamplingResult } from './types.ts';

/** The result of a handler: the outcome of the call, or a task that will have it. */
export type Ran = { outcome: CallOutcome } | { taskId: string };

/** Calls the handler of a tool. */
export async function runTool(
  tool: Tool,
  call: OutgoingCall,
  sink: ConnectionSink,
  capabilities: Capabilities | undefined,
): Promise<Ran> {
  // Handlers are written for JavaScript numbers.
  const args = withNearestNumbers(call.args);
  const mistake = tool.mistake(args);
  if (mistake !== undefined) return { outcome: failed(`the arguments of '${tool.name}' are invalid: ${mistake}`) };
  if (tool.repeatable) {
    await call.listener.onCheckpoint(runAgain(capabilities));
  }
  const onRecord = call.listener.onSending?.();
  if (onRecord !== undefined) await onRecord;
  const task = new HandledTask(tool, call, sink, capabilities);
  try {
    return ranTo(tool, await tool.run(args, task));
  } catch (error) {
    return { outcome: isProtocolError(error) ? { kind: 'error', error: rpcFailure(error) } : failed(messageOf(error)) };
  } finally {
    task.end();
  }
}

class HandledTask implements RunningTask {
  readonly signal: AbortSignal;
  readonly #tool: Tool;
  readonly #call: OutgoingCall;
  readonly #sink: ConnectionSink;
  readonly #capabilities: Capabilities | undefined;
  readonly #ended = new AbortController();
  #questions = 0;
  #over = false;

  constructor(tool: Tool, call: OutgoingCall, sink: ConnectionSink, capabilities: Capabilities | undefined) {
    this.signal = abortSignalOf(call.signal);
    this.#tool = tool;
    this.#call = call;
    this.#sink = sink;
    this.#capabilities = capabilities;
  }

  progress(progress: number, total?: number, message?: string): void {
    this.#call.listener.onProgress({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    });
  }

  elicit<Content>(question: Record<string, unknown>): Promise<ElicitResult<Content>> {
    return handled(
      this.#ask('elicitation', question).then((answer) => {
        return (answer['action'] === 'accept' ? { content: {}, ...answer } : answer) as ElicitResult<Content>;
      }),
    );
  }

  sample(request: Record<string, unknown>): Promise<SamplingResult> {
    return handled(this.#ask('sampling', request).then((answer) => answer as SamplingResult));
  }

  /** Releases the stored answers, unless the handler will run again after a restart. */
  end(): void {
    this.#over = true;
    if (this.signal.reason !== LEAVE_RUNNING) this.#ended.abort();
  }

  async #ask(kind: InteractionKind, params: Record<string, unknown>): Promise<Answer> {
    if (this.#over) throw new QuestionError(new Error('the call has ended'));
    this.#questions += 1;
    // A handler that runs again asks in the same order, so the position identifies the question.
    const again = { key: `${kind}-${this.#questions}`, detached: true, taken: this.#ended.signal };
    const asking = sendQuestion(this.#sink, this.#capabilities, {
      kind,
      params,
      callId: this.#call.id,
      withdrawn: this.signal,
      ...(this.#tool.repeatable && again),
    });
    try {
      // A question that is stored for the next start of the program never settles in this one.
      const over = (): Error => new Error(`the call has ended: ${reasonOf(this.signal)}`);
      return withNearestNumbers(await unlessAborted(asking, this.signal, over));
    } catch (error) {
      throw new QuestionError(error);
    }
  }
}

/** Prevents an unhandled rejection when the handler does not await its question. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Why a call was aborted, in words. */
export function reasonOf({ reason }: StopSignal): string {
  return reason === LEAVE_RUNNING ? 'the server is closing' : messageOf(reason);
}

function ranTo({ name }: Tool, given: unknown): Ran {
  if (typeof given === 'string') return { outcome: { kind: 'result', result: textResult(given) } };
  const { content, task } = isObject(given) ? given : {};
  if (isObject(task) && typeof task['id'] === 'string') return { taskId: task['id'] };
  if (isObject(given) && Array.isArray(content)) {
    // Throws here, and not later, if the result cannot be serialized.
    JSON.stringify(given);
    return { outcome: { kind: 'result', result: given } };
  }
  const message = `'${name}' returned neither a text nor { content: […] } nor { task }`;
  return { outcome: { kind: 'error', error: { code: -32603, message } } };
}

/** Protocol errors have negative codes; codes of system errors and aborted requests are strings or positive. */
function isProtocolError(error: unknown): error is Error & RpcFailure {
  return hasRpcCode(error) && error.code < 0;
}

/** A tool error, which the model of the caller reads. */
export function failed(message: string): CallOutcome {
  return { kind: 'result', result: { ...textResult(message), isError: true } };
}

function textResult(text: string): Record<string, unknown> {
  return { content: [{ type: 'text', text }] };
}
