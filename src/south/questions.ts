import type { Answer, InteractionKind } from '../core/interaction/interaction.ts';
import { kindOf } from '../core/interaction/methods.ts';
import { relatedTask, withRelatedTask } from '../lib/meta.ts';
import { isObject } from '../lib/values.ts';
import { ProtocolViolation } from './server-task.ts';

/** Reads a question; throws `ProtocolViolation` if it cannot be answered. */
export function readQuestion(
  method: unknown,
  params: unknown = {},
): { kind: InteractionKind; params: Record<string, unknown> } {
  const kind = kindOf(method);
  if (kind === undefined)
    throw new ProtocolViolation(`the server sent an unknown kind of question: ${JSON.stringify(method)}`);
  if (!isObject(params)) throw new ProtocolViolation(`the server's ${kind} request has no parameters`);
  const mistake = MISTAKES[kind](params);
  if (mistake !== undefined) throw new ProtocolViolation(`the server's ${kind} request is invalid: ${mistake}`);
  return { kind, params };
}

const MISTAKES: Record<InteractionKind, (params: Record<string, unknown>) => string | undefined> = {
  elicitation: elicitationMistake,
  sampling: samplingMistake,
  roots: () => undefined,
};

function elicitationMistake({ message, mode, url, requestedSchema }: Record<string, unknown>): string | undefined {
  if (typeof message !== 'string') return "'message' is not a string";
  if (mode === 'url') return typeof url === 'string' && URL.canParse(url) ? undefined : "'url' is not a URL";
  if (mode !== undefined && mode !== 'form') return `unknown mode ${JSON.stringify(mode)}`;
  if (!isObject(requestedSchema)) return "'requestedSchema' is not an object";
  const { type, properties } = requestedSchema;
  if (type !== undefined && type !== 'object') return "'requestedSchema' does not describe an object";
  if (properties !== undefined && (!isObject(properties) || !Object.values(properties).every(isObject))) {
    return "'requestedSchema.properties' is not an object of schemas";
  }
  return undefined;
}

function samplingMistake({ messages }: Record<string, unknown>): string | undefined {
  return Array.isArray(messages) ? undefined : "'messages' is not a list";
}

/** The answer, with the id of the task that asked. */
export function answerTo(params: Record<string, unknown>, answer: Answer): Answer {
  const taskId = relatedTask(params);
  return taskId === undefined ? answer : withRelatedTask(answer, taskId);
}
