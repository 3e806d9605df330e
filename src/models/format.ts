/** What the two wire formats have in common. */

import type { ModelReply } from '../core/ports/models.ts';
import type { Block, Prompt } from './prompt.ts';

export interface WireFormat {
  /** Where the API begins, if the config does not say. */
  readonly url: string;
  /** Where in the API prompts go to. */
  readonly path: string;
  headers: (key: string | undefined) => Record<string, string>;
  exchange: (prompt: Prompt, model: string, url: string) => ModelExchange;
}

/** A request, and how its response is read. */
export interface ModelExchange {
  body: Record<string, unknown>;
  /** Throws if the response makes no sense. */
  read: (response: Record<string, unknown>) => ModelReply;
}

export interface ModelAnswer {
  blocks: Block[];
  model: unknown;
  stopReason: string;
  /** `undefined` if the endpoint does not say. */
  tokens: number | undefined;
}

export function replyOf({ blocks, model, stopReason, tokens }: ModelAnswer, prompt: Prompt, asked: string): ModelReply {
  const content = prompt.tools.length === 0 ? joined(blocks) : blocks;
  if (content.length === 0) throw new Error(`its response is empty (${stopReason})`);
  return {
    answer: {
      role: 'assistant',
      content: content.length === 1 ? content[0] : content,
      model: typeof model === 'string' ? model : asked,
      stopReason,
    },
    tokens: tokens ?? prompt.maxTokens,
  };
}

/** Servers that offer no tools expect one block. */
function joined(blocks: readonly Block[]): Block[] {
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  return text === '' ? [] : [{ type: 'text', text }];
}

export const count = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);
