import type { Because, CallReply, CallRequest } from '../../core/call/request.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import type { EndedTask, Task } from '../../core/task/task.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { secretId } from '../../lib/ids.ts';
import { canBeAsked, inputRequests } from '../asking/asking.ts';
import { signState } from '../mrtr/request-state.ts';
import { nextOf } from '../mrtr/next.ts';
import { callReply, endedReply, promoted } from './call-reply.ts';
import { leaveIfDismissed } from './dismissal.ts';
import { leaveOut } from './reply.ts';
import { RoundsOut } from './rounds-out.ts';
import { Round, type AskingByRound, type ToolContext, type ToolReply } from './tool.ts';
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
    this.#patienceEnds = context.session.clock.now() + request.timeoutMs;
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
      return this.#next(reply.task.id);
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
      const message =
        'requestState refers to a call that has ended, and its result has expired; call again without requestState';
      throw new GatewayError('TOOL_ERR_TASK_NOT_FOUND', message);
    }
    const tookMs = this.#out.goOn(taskId, capabilities);
    try {
      await this.#out.keys.answer({ taskId }, capabilities, answers, (question, answer) =>
        leaveIfDismissed(this.#context, question, answer, tookMs),
      );
    } catch (error) {
      this.#out.end(taskId);
      throw error;
    }
    return this.#next(taskId);
  }

  async #next(taskId: string): Promise<ToolReply | Round> {
    const { session, exchange, onProgress } = this.#context;
    const { keys } = this.#out;
    const { capabilities } = this.#asking;
    const request = { session, exchange, onProgress, keys, capabilities, deadline: this.#patienceEnds };
    const next = await nextOf(request, taskId, (task) => (this.#isBlocked(task) ? 'question' : undefined));
    switch (next.kind) {
      case 'ended':
        return this.#ended(next.task);
      case 'asked':
        return this.#round(taskId, next.questions);
      case 'gone':
        return this.#promoted(taskId, 'gone');
      case 'stopped':
        return this.#promoted(taskId, next.because);
    }
  }

  /** Whether the call waits for somebody: if its client cannot be asked, a reply has to show the question. */
  #isBlocked({ id, status }: Task): boolean {
    return status === 'input_required' || this.#context.session.interactions.unhostedOf(id).length > 0;
  }

  #promoted(taskId: string, because: Because): ToolReply {
    this.#out.end(taskId);
    return promoted(this.#context, taskId, because, this.#request.timeoutMs);
  }

  #round(taskId: string, questions: Map<string, Interaction>): Round {
    const { session, exchange } = this.#context;
    this.#out.handedOut(taskId, [...questions.values()], this.#request.timeoutMs);
    exchange.whenSettled((delivered) => {
      if (!delivered) this.#out.end(taskId);
    });
    return new Round(inputRequests(questions), signState(session.key, { task: taskId }));
  }

  /** The client hears of the end as of that of any other call: that there was a task between its rounds is not its business. */
  #ended(task: EndedTask): ToolReply {
    const { session, exchange } = this.#context;
    const asked = this.#out.end(task.id);
    leaveOut(this.#context, ({ data: { taskId, requestId } }) => taskId === task.id || asked.has(requestId));
    deliverTask({ session, exchange }, task.id, { forget: true });
    return endedReply(task);
  }
}
