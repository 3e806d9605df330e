/** What the history records of the parameters of a question. */

import { isObject } from '../../lib/values.ts';
import type { InteractionKind } from '../interaction/interaction.ts';
import type { QuestionEntry } from './entry.ts';

/** Whether a person or a model is asked, whom calls wait for; a program answers in a moment. */
export const isPerson = (kind: InteractionKind): boolean => kind !== 'roots';

/** Form or URL mode. */
export function modeOf(kind: InteractionKind, { mode }: Record<string, unknown>): QuestionEntry['mode'] {
  if (kind !== 'elicitation') return undefined;
  return mode === 'url' ? 'url' : 'form';
}

/** The text of the question; of a sampling request, its last text. */
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

/** The text of a content block, or of the last block that has one. */
function textIn(content: unknown): string | undefined {
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts.flatMap((part) => (isObject(part) ? (textOf(part['text']) ?? []) : [])).at(-1);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
