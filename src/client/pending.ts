import { LEAVE_RUNNING, type IncomingQuestion } from '../core/ports/connection.ts';
import { formMistake } from '../lib/form/check.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { whenAborted } from '../lib/abort.ts';
import { secretId } from '../lib/ids.ts';
import { isObject } from '../lib/values.ts';
import { relatedTask } from '../lib/meta.ts';
import type { Running } from './following.ts';
import type { Tell } from './typed-event-target.ts';
import type { ElicitResult, PendingElicitation, PendingSample, TaskClientEvents } from './types.ts';

interface Open {
  id: string;
  over: AbortSignal;
  answer: Promise<Answer>;
  settle: (answer: Answer) => void;
  refuse: (reason: string) => void;
}

/** A question that waits for its answer until the server withdraws it. Only the first answer counts. */
function open({ withdrawn }: IncomingQuestion): Open {
  const over = new AbortController();
  let resolve: (answer: Answer) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const answer = new Promise<Answer>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  const settle = (given: Answer): void => {
    resolve(given);
    over.abort();
  };
  const refuse = (reason: string): void => {
    reject(new Error(reason));
    over.abort();
  };
  whenAborted(
    over.signal,
    whenAborted(withdrawn, () => refuse('the question was withdrawn')),
  );
  return { id: secretId(), over: over.signal, answer, settle, refuse };
}

/** Emits a question as an event; `running` is the call that asks it, if known. */
export async function askListeners(
  question: IncomingQuestion,
  running: Running | undefined,
  tell: Tell<TaskClientEvents>,
): Promise<Answer> {
  const taskId = relatedTask(question.params) ?? running?.taskId;
  const asked = running === undefined ? question : { ...question, withdrawn: untilCancelled(question, running) };
  if (question.kind === 'elicitation') {
    const { pending, answer } = pendingElicitation(asked, taskId);
    tell('newPendingElicitation', pending);
    return answer;
  }
  const { pending, answer } = pendingSample(asked, taskId);
  tell('newPendingSample', pending);
  return answer;
}

/** Aborted when the server withdraws the question, or when the call that asks it is cancelled. */
function untilCancelled({ withdrawn }: IncomingQuestion, { stop }: Running): AbortSignal {
  const over = new AbortController();
  whenAborted(withdrawn, () => over.abort(withdrawn.reason));
  whenAborted(stop.signal, () => {
    // A call that is left running still waits for the answer.
    if (stop.signal.reason !== LEAVE_RUNNING) over.abort(stop.signal.reason);
  });
  return over.signal;
}

function pendingElicitation(
  question: IncomingQuestion,
  taskId: string | undefined,
): { pending: PendingElicitation; answer: Promise<Answer> } {
  const { id, over, answer, settle } = open(question);
  const { params } = question;
  const { message, mode, requestedSchema, url } = params;
  const form = isObject(requestedSchema) ? requestedSchema : undefined;
  const pending: PendingElicitation = {
    id,
    params,
    over,
    message: String(message),
    mode: mode === 'url' ? 'url' : 'form',
    ...(form !== undefined && { requestedSchema: form }),
    ...(typeof url === 'string' && { url }),
    ...(taskId !== undefined && { taskId }),
    respond: (given) => {
      if (over.aborted) return;
      const mistake =
        given.action === 'accept' && form !== undefined ? formMistake(form, given.content ?? {}) : undefined;
      if (mistake !== undefined) throw new Error(`the answer does not match the form: ${mistake}`);
      settle(asAnswer(given));
    },
  };
  return { pending, answer };
}

function pendingSample(
  question: IncomingQuestion,
  taskId: string | undefined,
): { pending: PendingSample; answer: Promise<Answer> } {
  const { id, over, answer, settle, refuse } = open(question);
  const pending: PendingSample = {
    id,
    params: question.params,
    over,
    ...(taskId !== undefined && { taskId }),
    respond: settle,
    reject: refuse,
  };
  return { pending, answer };
}

function asAnswer({ action, content, _meta }: ElicitResult): Answer {
  return { action, ...(content !== undefined && { content }), ...(_meta !== undefined && { _meta }) };
}
