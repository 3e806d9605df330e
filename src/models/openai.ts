/** Chat completions, as OpenAI has them, and many programs that serve models. */

import { parseExact, stringifyExact } from '../lib/exact-json.ts';
import { isObject } from '../lib/values.ts';
import { count, replyOf, type WireFormat } from './format.ts';
import { ToolNames, type Block, type Prompt, type PromptMessage } from './prompt.ts';

/** How many stop sequences a request may have. */
const MAX_STOPS = 4;

const AUDIO_FORMATS = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);

const STOP_REASONS = new Map([
  ['stop', 'endTurn'],
  ['length', 'maxTokens'],
  ['tool_calls', 'toolUse'],
  ['content_filter', 'refusal'],
]);

export const openai: WireFormat = {
  url: 'https://api.openai.com/v1',
  path: 'chat/completions',
  headers: (key) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
  exchange: (prompt, model, url) => {
    const names = new ToolNames(prompt.tools);
    return {
      body: requestBody(prompt, { model, url, names }),
      read: (response) => readResponse(response, { prompt, model, names }),
    };
  },
};

function requestBody(
  prompt: Prompt,
  { model, url, names }: { model: string; url: string; names: ToolNames },
): Record<string, unknown> {
  const { system, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = prompt;
  if (stopSequences.length > MAX_STOPS) throw new Error(`it accepts at most ${MAX_STOPS} stop sequences`);
  // Only OpenAI itself has the newer name, and its newer models know no other.
  const limit = /(?:^|\.)openai\.com$/.test(new URL(url).hostname) ? 'max_completion_tokens' : 'max_tokens';
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message) => wireMessages(message, names)),
    ],
    [limit]: maxTokens,
    ...(temperature !== undefined && { temperature: Math.min(2, Math.max(0, temperature)) }),
    ...(stopSequences.length > 0 && { stop: stopSequences }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: {
          name: names.toWire(name),
          ...(description !== undefined && { description }),
          parameters: inputSchema,
        },
      })),
      ...(toolChoice !== undefined && { tool_choice: toolChoice }),
    }),
  };
}

/** Each tool result is a separate message, before the user's other content. */
function wireMessages({ role, content }: PromptMessage, names: ToolNames): Record<string, unknown>[] {
  if (role === 'assistant') return [assistantMessage(content, names)];
  const results = content.filter((block) => block.type === 'tool_result');
  // Results are only text here; pictures in them are shown by the user.
  const shown = results.flatMap((result) => result.content.filter(({ type }) => type !== 'text'));
  const said = [...shown, ...content.filter(({ type }) => type !== 'tool_result')];
  return [
    ...results.map(({ toolUseId, content: blocks, isError }) => ({
      role: 'tool',
      tool_call_id: toolUseId,
      content: `${isError ? 'Error: ' : ''}${textOf(blocks)}`,
    })),
    ...(said.length === 0 ? [] : [{ role: 'user', content: userContent(said) }]),
  ];
}

function assistantMessage(content: readonly Block[], names: ToolNames): Record<string, unknown> {
  const other = content.find(({ type }) => type !== 'text' && type !== 'tool_use');
  if (other !== undefined) throw new Error(`an assistant's ${other.type} cannot be sent in this format`);
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
  const text = textOf(content);
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name: names.toWire(name), arguments: stringifyExact(input) },
      })),
    }),
  };
}

function userContent(blocks: readonly Block[]): unknown {
  if (blocks.every(({ type }) => type === 'text')) return textOf(blocks);
  return blocks.map((block) => {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text };
      case 'image':
        return { type: 'image_url', image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
      case 'audio': {
        const format = AUDIO_FORMATS.get(block.mimeType);
        if (format === undefined) throw new Error(`audio of the type ${block.mimeType} cannot be sent in this format`);
        return { type: 'input_audio', input_audio: { data: block.data, format } };
      }
      case 'tool_use':
      case 'tool_result':
        throw new Error(`a user's ${block.type} cannot be sent`);
    }
  });
}

const textOf = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');

function readResponse(
  response: Record<string, unknown>,
  { prompt, model, names }: { prompt: Prompt; model: string; names: ToolNames },
) {
  const { choices, usage } = response;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isObject(choice) ? choice['message'] : undefined;
  if (!isObject(choice) || !isObject(message)) throw new Error('its response has no message');
  const { content, tool_calls: calls, refusal } = message;
  if (typeof refusal === 'string' && refusal !== '') throw new Error(`it refused: ${refusal}`);
  const used = (Array.isArray(calls) ? calls : []).map((call: unknown) => toolUse(call, names));
  const blocks: Block[] = [
    ...(typeof content === 'string' && content !== '' ? [{ type: 'text', text: content } as const] : []),
    ...used,
  ];
  const reason = String(choice['finish_reason']);
  // Some programs say `stop` also for calls.
  const stopReason = used.length > 0 ? 'toolUse' : (STOP_REASONS.get(reason) ?? reason);
  const { prompt_tokens: before, completion_tokens: after } = isObject(usage) ? usage : {};
  const tokens = isObject(usage) ? count(before) + count(after) : undefined;
  return replyOf({ blocks, model: response['model'], stopReason, tokens }, prompt, model);
}

function toolUse(call: unknown, names: ToolNames): Block {
  const { id, function: called } = isObject(call) ? call : {};
  if (typeof id !== 'string' || !isObject(called)) throw new Error('it called a tool without naming it');
  const name = names.fromWire(called['name']);
  const { arguments: text } = called;
  let input: unknown;
  try {
    // Without arguments, some send an empty text.
    input = text === '' ? {} : parseExact(String(text));
  } catch {
    input = undefined;
  }
  if (!isObject(input)) throw new Error(`it called the tool '${name}' with arguments that are not a JSON object`);
  return { type: 'tool_use', id, name, input };
}
