/** What the history tells of the parameters of a question. */

import { isObject } from '../../lib/values.ts';
import type { InteractionKind } from '../interaction/interaction.ts';
import type { QuestionEntry } from './entry.ts';

/** Whether a person, or a model, is asked: calls wait for them, and only for a moment for a program. */
export const isPerson = (kind: InteractionKind): boolean => kind !== 'roots';

/** Whether a person fills in a form, or opens a page. */
export function modeOf(kind: InteractionKind, { mode }: Record<string, unknown>): QuestionEntry['mode'] {
  if (kind !== 'elicitation') return undefined;
  return mode === 'url' ? 'url' : 'form';
}

/** The question itself; of a request to a model the last text. */
export function messageIn(kind: InteractionKind, params: Record<string, unknown>): string | undefined {
  if (kind === 'elicitation') return textOf(params['message']);
  const { messages } = params;
  if (!Array.isArray(messages)) return undefined;
  for (const message of messages.toReversed()) {
    const text = isObject(message) ? textIn(message['content']) : undefined;
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Of one part of a message, or of the last of several that has a text. */
function textIn(content: unknown): string | undefined {
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => (isObject(part) ? (textOf(part['text']) ?? []) : [])).at(-1);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
