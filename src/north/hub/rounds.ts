import type { Because, CallReply, CallRequest } from '../../core/call/request.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { canBeAsked, inputRequests } from '../asking/asking.ts';
import { signState } from '../asking/request-state.ts';
import { attending } from '../attending.ts';
import type { AskingByRound } from './asking.ts';
import { callReply, endedReply, promoted } from './call-reply.ts';
import { leaveIfDismissed } from './dismissal.ts';
import { leaveOut } from './reply.ts';
import { RoundsOut } from './rounds-out.ts';
import { Round, type ToolContext, type ToolReply } from './tool.ts';
import { deliverTask } from '../delivery.ts';

const roundsOut = new WeakMap<Session, RoundsOut>();

/** Makes a call, or goes on with one, whose client gets what the call asks in place of the reply and comes back with the answers. */
export async function executeInRounds(
  context: ToolContext,
  asking: AskingByRound,
  request: CallRequest,
): Promise<ToolReply | Round> {
  const { session } = context;
  const out = roundsOut.get(session) ?? new RoundsOut(session, context.gateway.settings.questions.via === 'native');
  roundsOut.set(session, out);
  return new CallInRounds(context, asking, request, out).reply();
}

class CallInRounds {
  readonly #context: ToolContext;
  readonly #asking: AskingByRound;
  readonly #request: CallRequest;
  readonly #out: RoundsOut;
  readonly #patienceEnds: number;

  constructor(context: ToolContext, asking: AskingByRound, request: CallRequest, out: RoundsOut) {
    this.#context = context;
    this.#asking = asking;
    this.#request = request;
    this.#out = out;
    this.#patienceEnds = Date.now() + request.timeoutMs;
  }

  async reply(): Promise<ToolReply | Round> {
    const { taskId } = this.#asking;
    return taskId === undefined ? this.#begin() : this.#goOn(taskId);
  }

  async #begin(): Promise<ToolReply | Round> {
    const { session, exchange, onProgress } = this.#context;
    const id = secretId();
    const connection = session.connection(this.#request.server);
    const close = this.#out.attend({ callId: id }, this.#asking.capabilities);
    let reply: CallReply;
    try {
      reply = await session.calls.execute(
        connection,
        { ...this.#request, id },
        {
          onLeaving: (listener) => exchange.onLeaving(listener),
          onProgress,
          effectOf: (question) => (canBeAsked(this.#asking.capabilities, question) ? 'reply' : 'promote'),
        },
      );
    } catch (error) {
      close();
      throw error;
    }
    if (reply.kind === 'task' && reply.because === 'question') {
      this.#out.begin(reply.task.id, close);
      return attending(this.#context, reply.task.id, async () => this.#next(reply.task.id));
    }
    close();
    return callReply(this.#context, this.#request, reply);
  }

  /** The client brings the answers to what was asked in the last round. */
  async #goOn(taskId: string): Promise<ToolReply | Round> {
    const { server, tool } = this.#request;
    const { capabilities, answers } = this.#asking;
    const task = this.#context.session.tasks.find(taskId);
    if (task?.server !== server || task.tool !== tool) {
      const message = 'requestState names a call that is over, and whose result is not kept any more: begin it anew';
      throw new GatewayError('TOOL_ERR_TASK_NOT_FOUND', message);
    }
    const tookMs = this.#out.goOn(taskId, capabilities);
    return attending(this.#context, taskId, async () => {
      try {
        await this.#out.keys.answer({ taskId }, capabilities, answers, (question, answer) =>
          leaveIfDismissed(this.#context, question, answer, tookMs),
        );
      } catch (error) {
        // Unless somebody else was faster, which is no mistake.
        if (!(error instanceof GatewayError) || error.code !== 'TOOL_ERR_REQUEST_NOT_FOUND') {
          this.#out.end(taskId);
          throw error;
        }
      }
      return this.#next(taskId);
    });
  }

  /** Waits for what comes next of a call that is a task: its end, a question, or the end of the client's patience. */
  async #next(taskId: string): Promise<ToolReply | Round> {
    const { session, exchange } = this.#context;
    const signal = exchange.leavingSignal();
    for (;;) {
      const task = await session.controller.until(taskId, (now) => hasEnded(now) || this.#asks(now), {
        timeoutMs: Math.max(0, this.#patienceEnds - Date.now()),
        signal,
      });
      if (hasEnded(task)) return this.#ended(task);
      const round = this.#asks(task) && exchange.open ? await this.#round(taskId) : undefined;
      if (round !== undefined) return round;
      const because = this.#why(session.tasks.get(taskId));
      // The question that ended the wait may have been answered, or is put to the client with another call.
      if (because === undefined) continue;
      this.#out.end(taskId);
      return promoted(this.#context, taskId, because, this.#request.timeoutMs);
    }
  }

  /** Whether the client should get a question with this task. */
  #asks({ id, status }: Task): boolean {
    return status === 'input_required' || this.#context.session.interactions.unhostedOf(id).length > 0;
  }

  /** Why the client gets the task now, if it does not wait any longer. */
  #why(task: Task): Because | undefined {
    const { exchange, session } = this.#context;
    if (!exchange.open || session.ended) return 'gone';
    if (this.#asks(task)) return 'question';
    return Date.now() >= this.#patienceEnds ? 'timeout' : undefined;
  }

  /** What the client can be asked now, if it is anything. */
  async #round(taskId: string): Promise<Round | undefined> {
    const { session, exchange } = this.#context;
    const { capabilities } = this.#asking;
    const { interactions } = session;
    for (const interaction of interactions.unhostedOf(taskId)) {
      if (canBeAsked(capabilities, interaction)) interactions.hostWith(interaction.id, taskId);
    }
    if (this.#out.keys.of({ taskId }, capabilities).size === 0) return undefined;
    const asked = await this.#out.keys.gathered({ taskId }, capabilities);
    if (asked.size === 0) return undefined;
    this.#out.handedOut(taskId, [...asked.values()], this.#request.timeoutMs);
    exchange.whenSettled((delivered) => {
      if (!delivered) this.#out.end(taskId);
    });
    return new Round(inputRequests(asked), signState(session.key, { task: taskId }));
  }

  /** The client hears of the end as of that of any other call: that there was a task between its rounds is not its business. */
  #ended(task: Task): ToolReply {
    const { session, exchange } = this.#context;
    const asked = this.#out.end(task.id);
    leaveOut(this.#context, ({ data: { taskId, requestId } }) => taskId === task.id || asked.has(requestId));
    deliverTask({ session, exchange }, task.id, { forget: true });
    return endedReply(task);
  }
}
