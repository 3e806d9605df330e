/** Messages, as Anthropic has them. */

import { isObject } from '../lib/values.ts';
import { count, replyOf, type WireFormat } from './format.ts';
import { ToolNames, type Block, type Prompt, type PromptMessage } from './prompt.ts';

const API_VERSION = '2023-06-01';

const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

const TOOL_CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const;

const STOP_REASONS = new Map([
  ['end_turn', 'endTurn'],
  ['stop_sequence', 'stopSequence'],
  ['max_tokens', 'maxTokens'],
  ['model_context_window_exceeded', 'maxTokens'],
  ['tool_use', 'toolUse'],
]);

export const anthropic: WireFormat = {
  url: 'https://api.anthropic.com',
  path: 'v1/messages',
  headers: (key) => ({ 'anthropic-version': API_VERSION, ...(key !== undefined && { 'x-api-key': key }) }),
  exchange: (prompt, model) => {
    const names = new ToolNames(prompt.tools);
    return {
      body: requestBody(prompt, model, names),
      read: (response) => readResponse(response, { prompt, model, names }),
    };
  },
};

function requestBody(prompt: Prompt, model: string, names: ToolNames): Record<string, unknown> {
  const { system, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = prompt;
  return {
    model,
    max_tokens: maxTokens,
    messages: alternating(messages).map(({ role, content }) => ({
      role,
      content: content.map((block) => wireBlock(block, names)),
    })),
    ...(system !== undefined && { system }),
    ...(temperature !== undefined && { temperature: Math.min(1, Math.max(0, temperature)) }),
    ...(stopSequences.length > 0 && { stop_sequences: stopSequences }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        name: names.toWire(name),
        ...(description !== undefined && { description }),
        input_schema: inputSchema,
      })),
      ...(toolChoice !== undefined && { tool_choice: { type: TOOL_CHOICES[toolChoice] } }),
    }),
  };
}

/** Several messages of one side in a row are one; an empty text is none. */
function alternating(messages: readonly PromptMessage[]): PromptMessage[] {
  const merged: PromptMessage[] = [];
  for (const { role, content } of messages) {
    const said = content.filter((block) => block.type !== 'text' || block.text !== '');
    const last = merged.at(-1);
    if (last?.role === role) last.content.push(...said);
    else if (said.length > 0) merged.push({ role, content: said });
  }
  // Results of tools come first.
  for (const message of merged) {
    message.content.sort((a, b) => Number(b.type === 'tool_result') - Number(a.type === 'tool_result'));
  }
  return merged;
}

function wireBlock(block: Block, names: ToolNames): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      if (!IMAGE_TYPES.has(block.mimeType)) throw new Error(`images of the type ${block.mimeType} cannot be sent`);
      return { type: 'image', source: { type: 'base64', media_type: block.mimeType, data: block.data } };
    case 'audio':
      throw new Error('audio cannot be sent in this format');
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: names.toWire(block.name), input: block.input };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.toolUseId,
        content: block.content.map((each) => wireBlock(each, names)),
        ...(block.isError && { is_error: true }),
      };
  }
}

function readResponse(
  response: Record<string, unknown>,
  { prompt, model, names }: { prompt: Prompt; model: string; names: ToolNames },
) {
  const { content, stop_reason: reason, usage } = response;
  if (!Array.isArray(content)) throw new Error('its response has no content');
  if (reason === 'refusal') throw new Error('it refused to answer');
  // Others, such as its thoughts, are not for the server.
  const blocks = content.flatMap((block: unknown): Block[] => {
    const { type, text, id, name, input } = isObject(block) ? block : {};
    if (type === 'text' && typeof text === 'string' && text !== '') return [{ type, text }];
    if (type !== 'tool_use') return [];
    if (typeof id !== 'string' || !isObject(input)) throw new Error('it called a tool without an id or input');
    return [{ type, id, name: names.fromWire(name), input }];
  });
  const stopReason = STOP_REASONS.get(String(reason)) ?? String(reason);
  return replyOf({ blocks, model: response['model'], stopReason, tokens: tokensIn(usage) }, prompt, model);
}

function tokensIn(usage: unknown): number | undefined {
  if (!isObject(usage)) return undefined;
  const kinds = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
  return kinds.reduce((sum, kind) => sum + count(usage[kind]), 0);
}
