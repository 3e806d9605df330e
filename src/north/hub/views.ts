/** The form of records in replies. */

import { isDeepStrictEqual } from 'node:util';
import type { SessionEvent } from '../../core/event/event.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { errorOfTask, type Task } from '../../core/task/task.ts';
import { isoTime } from '../../lib/clock.ts';
import { redactSecrets } from '../../lib/redact.ts';
import { requestOf } from '../../core/interaction/link.ts';
import { shortenText, shortenValue } from '../../lib/shorten.ts';
import { quotable } from '../../lib/values.ts';
import { anyQuestions, questionsIn, type Visible } from './visible.ts';

/** The length of a question's message if the rest of the reply contains the whole. */
const MESSAGE_CHARS = 120;

/** The size of a task's arguments. */
const ARGS_BYTES = 400;

/** The hub has no `input_required`: such a task is shown as working, next to its questions. */
export function shownStatus(task: Task): string {
  return task.status === 'input_required' ? 'working' : task.status;
}

export function taskView(task: Task): Record<string, unknown> {
  const error = errorOfTask(task);
  return {
    task_id: task.id,
    status: shownStatus(task),
    created_at: isoTime(task.createdAt),
    last_updated_at: isoTime(task.updatedAt),
    server: task.server,
    tool: task.tool,
    ...(task.statusMessage !== undefined && { status_message: task.statusMessage }),
    ...(error !== undefined && { error }),
    ttl_ms: task.ttlMs,
  };
}

/** The same with its arguments, which distinguish tasks of the same tool. */
export function taskWithArgs(task: Task): Record<string, unknown> {
  const args = shortenValue(task.args, ARGS_BYTES);
  const truncated = !isDeepStrictEqual(args, task.args);
  return { ...taskView(task), args: redactSecrets(args), ...(truncated && { args_truncated: true }) };
}

/** A task as `await_activity` names it. */
export function workingTask(task: Task): Record<string, unknown> {
  return { taskId: task.id, toolName: task.tool, status: shownStatus(task) };
}

/** A task other than the subject of the reply. */
export function taskReference(task: Task): Record<string, unknown> {
  return { task_id: task.id, status: shownStatus(task), tool: task.tool };
}

/** The full question is in `pending_client_action` of the same reply. */
export function elicitationReference({ id, server }: Interaction): Record<string, unknown> {
  return { requestId: id, server };
}

/** Enough to recognize it. */
export function elicitationBrief({ id, server, params }: Interaction): Record<string, unknown> {
  return { requestId: id, server, message: shortenText(quotable(params['message']), MESSAGE_CHARS) };
}

export function elicitationView(question: Interaction): Record<string, unknown> {
  const { message, mode, requestedSchema, url, elicitationId } = question.params;
  return {
    requestId: question.id,
    server: question.server,
    message,
    ...(url === undefined ? { requestedSchema } : { mode, url, elicitationId }),
    ...taskReferenceOf(question),
    timestamp: isoTime(question.createdAt),
    expiresAt: isoTime(question.expiresAt),
  };
}

function taskReferenceOf({ link }: Interaction): { taskId?: string } {
  const { taskId } = requestOf(link) ?? {};
  return taskId === undefined ? {} : { taskId };
}

export function samplingView(question: Interaction): Record<string, unknown> {
  return {
    requestId: question.id,
    server: question.server,
    params: question.params,
    ...taskReferenceOf(question),
    timestamp: isoTime(question.createdAt),
    expiresAt: isoTime(question.expiresAt),
  };
}

export function eventView(event: SessionEvent): Record<string, unknown> {
  const { id, type, server, createdAt, data, maybeSeen } = event;
  return { id, type, server, createdAt: isoTime(createdAt), data, ...(maybeSeen && { maybeSeen }) };
}

/** All questions to the client, with everything needed to answer them. */
export function pendingClientAction(visible: Visible): Record<string, unknown> | undefined {
  if (!anyQuestions(visible)) return undefined;
  const elicitations = questionsIn(visible, 'elicitation').map(elicitationView);
  const sampling_requests = questionsIn(visible, 'sampling').map(samplingView);
  return elicitations.length + sampling_requests.length === 0 ? undefined : { elicitations, sampling_requests };
}
