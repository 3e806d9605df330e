import type { Because, CallReply, CallRequest } from '../../core/call/request.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import type { EndedTask, Task } from '../../core/task/task.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { secretId } from '../../lib/ids.ts';
import { canBeAsked } from '../asking/asking.ts';
import { deliverTask } from '../delivery.ts';
import { nextOf } from '../mrtr/next.ts';
import { inputRequired } from '../mrtr/request-state.ts';
import { callReply, endedReply, promoted } from './call-reply.ts';
import { leaveIfDismissed } from './dismissal.ts';
import { OpenRounds } from './open-rounds.ts';
import { leaveOut } from './reply.ts';
import type { AskingByRound, ToolContext, ToolReply } from './tool.ts';

/** A call whose client gets its questions instead of the reply, and returns with the answers. */
interface CallInRounds {
  context: ToolContext;
  asking: AskingByRound;
  request: CallRequest;
  rounds: OpenRounds;
  /** The latest time for a reply. */
  deadline: number;
}

const openRounds = new WeakMap<Session, OpenRounds>();

function roundsOf({ session, gateway }: ToolContext): OpenRounds {
  const exclusive = gateway.settings.questions.via === 'native';
  const rounds = openRounds.get(session) ?? new OpenRounds(session, exclusive);
  openRounds.set(session, rounds);
  return rounds;
}

/** Makes a call, or continues one with the client's answers. */
export function executeInRounds(context: ToolContext, asking: AskingByRound, request: CallRequest): Promise<ToolReply> {
  const deadline = context.session.clock.now() + request.timeoutMs;
  const call: CallInRounds = { context, asking, request, rounds: roundsOf(context), deadline };
  return asking.taskId === undefined ? begin(call) : goOn(call, asking.taskId);
}

async function begin(call: CallInRounds): Promise<ToolReply> {
  const { context, asking, request, rounds } = call;
  const { session, exchange, onProgress } = context;
  const id = request.id ?? secretId();
  const connection = session.connection(request.server);
  const unregister = rounds.register({ callId: id }, asking.capabilities);
  let reply: CallReply;
  try {
    reply = await session.calls.execute(
      connection,
      // The new field comes first: otherwise V8 makes a hidden class for each call (docs/PERFORMANCE.md).
      { id, ...request },
      {
        onLeaving: (listener) => exchange.onLeaving(listener),
        onProgress,
        effectOf: (question) => (canBeAsked(asking.capabilities, question) ? 'reply' : 'promote'),
      },
    );
  } catch (error) {
    unregister();
    throw error;
  }
  if (reply.kind === 'task' && reply.because === 'question') {
    rounds.begin(reply.task.id, unregister);
    return next(call, reply.task.id);
  }
  unregister();
  return callReply(context, request, reply);
}

/** The client returns with the answers of the last round. */
async function goOn(call: CallInRounds, taskId: string): Promise<ToolReply> {
  const { context, asking, request, rounds } = call;
  const { capabilities, answers } = asking;
  const task = context.session.findTask(taskId);
  if (task?.server !== request.server || task.tool !== request.tool) {
    const message =
      'requestState refers to a call that has ended, and its result has expired; call again without requestState';
    throw new GatewayError('TOOL_ERR_TASK_NOT_FOUND', message);
  }
  const tookMs = rounds.resume(taskId, capabilities);
  try {
    await rounds.keys.answer({ taskId }, capabilities, answers, (question, answer) =>
      leaveIfDismissed(context, question, answer, tookMs),
    );
  } catch (error) {
    rounds.end(taskId);
    throw error;
  }
  return next(call, taskId);
}

async function next(call: CallInRounds, taskId: string): Promise<ToolReply> {
  const { context, asking, rounds, deadline } = call;
  const { session, exchange, onProgress } = context;
  const request = { session, exchange, onProgress, keys: rounds.keys, capabilities: asking.capabilities, deadline };
  const came = await nextOf(request, taskId, (task) => (isBlocked(session, task) ? 'question' : undefined));
  switch (came.kind) {
    case 'ended':
      return ended(call, came.task);
    case 'asked':
      return ask(call, taskId, came.questions);
    case 'gone':
      return asTask(call, taskId, 'gone');
    case 'stopped':
      return asTask(call, taskId, came.because);
  }
}

/** Whether the call waits for an answer: if its client cannot be asked, a reply must show the question. */
function isBlocked({ interactions }: Session, { id, status }: Task): boolean {
  return status === 'input_required' || interactions.unhostedOf(id).length > 0;
}

function asTask({ context, request, rounds }: CallInRounds, taskId: string, because: Because): ToolReply {
  rounds.end(taskId);
  return promoted(context, taskId, because, request.timeoutMs);
}

function ask(
  { context, request, rounds }: CallInRounds,
  taskId: string,
  questions: Map<string, Interaction>,
): ToolReply {
  const { session, exchange } = context;
  rounds.ask(taskId, questions.values(), request.timeoutMs);
  exchange.whenSettled((delivered) => {
    if (!delivered) rounds.end(taskId);
  });
  return { kind: 'round', result: inputRequired(session.key, questions, { task: taskId }) };
}

/** A normal call reply: the client need not know of the task between its rounds. */
function ended({ context, rounds }: CallInRounds, task: EndedTask): ToolReply {
  const asked = rounds.end(task.id);
  leaveOut(context, ({ data: { taskId, requestId } }) => taskId === task.id || asked.has(requestId));
  deliverTask(context, task.id, () => context.session.tasks.delivered(task.id));
  return endedReply(task);
}
