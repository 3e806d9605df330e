/** A sampling request in a form that both wire formats are made from. */

import { isObject } from '../lib/values.ts';

export type Block =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; toolUseId: string; content: Block[]; isError: boolean };

export interface PromptMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

export interface PromptTool {
  name: string;
  description: string | undefined;
  inputSchema: Record<string, unknown>;
}

export interface Prompt {
  system: string | undefined;
  messages: PromptMessage[];
  maxTokens: number;
  temperature: number | undefined;
  stopSequences: string[];
  tools: PromptTool[];
  toolChoice: 'auto' | 'required' | 'none' | undefined;
}

/** Reads a sampling request; throws if it cannot be sent to a model. */
export function readPrompt(params: Record<string, unknown>): Prompt {
  const { systemPrompt, messages, maxTokens, temperature, stopSequences, tools, toolChoice } = params;
  const mode = isObject(toolChoice) ? toolChoice['mode'] : undefined;
  const prompt: Prompt = {
    system: typeof systemPrompt === 'string' && systemPrompt !== '' ? systemPrompt : undefined,
    messages: list(messages).map(readMessage),
    maxTokens: Number(maxTokens),
    temperature: typeof temperature === 'number' ? temperature : undefined,
    stopSequences: list(stopSequences).filter((text) => typeof text === 'string' && text !== '') as string[],
    tools: list(tools).map(readTool),
    toolChoice: mode === 'auto' || mode === 'required' || mode === 'none' ? mode : undefined,
  };
  if (prompt.messages.length === 0) throw new Error('the request has no messages');
  return prompt;
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function readMessage(message: unknown): PromptMessage {
  const { role, content } = isObject(message) ? message : {};
  if (role !== 'user' && role !== 'assistant') throw new Error(`the role '${String(role)}' cannot be sent`);
  return { role, content: (Array.isArray(content) ? content : [content]).map(readBlock) };
}

function readBlock(block: unknown): Block {
  if (!isObject(block)) throw new Error('a message has no content');
  const { type, text, data, mimeType } = block;
  switch (type) {
    case 'text':
      return { type, text: String(text) };
    case 'image':
    case 'audio':
      return { type, data: String(data), mimeType: String(mimeType) };
    case 'tool_use':
      return { type, id: String(block['id']), name: String(block['name']), input: asObject(block['input']) };
    case 'tool_result':
      return {
        type,
        toolUseId: String(block['toolUseId']),
        content: resultBlocks(block),
        isError: block['isError'] === true,
      };
    case 'resource_link':
      return { type: 'text', text: `${String(block['name'])}: ${String(block['uri'])}` };
    case 'resource':
      return readResource(asObject(block['resource']));
    default:
      throw new Error(`content of the type '${String(type)}' cannot be sent`);
  }
}

/** A tool that returned only structured content said it all there. */
function resultBlocks({ content, structuredContent }: Record<string, unknown>): Block[] {
  const blocks = list(content).map(readBlock);
  if (blocks.length > 0 || structuredContent === undefined) return blocks;
  return [{ type: 'text', text: JSON.stringify(structuredContent) }];
}

function readResource({ uri, text, blob, mimeType }: Record<string, unknown>): Block {
  if (typeof text === 'string') return { type: 'text', text };
  const kind = String(mimeType).split('/')[0];
  if (typeof blob === 'string' && (kind === 'image' || kind === 'audio')) {
    return { type: kind, data: blob, mimeType: String(mimeType) };
  }
  throw new Error(`the resource ${String(uri)} is neither text nor an image nor audio, and cannot be sent`);
}

function readTool(tool: unknown): PromptTool {
  const { name, description, inputSchema } = asObject(tool);
  return {
    name: String(name),
    description: typeof description === 'string' ? description : undefined,
    inputSchema: { type: 'object', ...asObject(inputSchema) },
  };
}

const asObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** The endpoints know only short names of letters, digits, `_` and `-`; servers may have others. */
const NAME_LENGTH = 64;

export class ToolNames {
  readonly #wire = new Map<string, string>();
  readonly #own = new Map<string, string>();

  constructor(tools: readonly PromptTool[]) {
    for (const { name } of tools) this.#add(name);
  }

  #add(name: string): string {
    const plain = name.replaceAll(/[^\w-]/g, '_');
    let wire = plain.slice(0, NAME_LENGTH) || '_';
    for (let count = 2; this.#own.has(wire); count += 1) {
      wire = `${plain.slice(0, NAME_LENGTH - 1 - String(count).length)}_${count}`;
    }
    this.#wire.set(name, wire);
    this.#own.set(wire, name);
    return wire;
  }

  /** Also for a tool that was called earlier and is no longer offered. */
  toWire(name: string): string {
    return this.#wire.get(name) ?? this.#add(name);
  }

  /** The name of the server for a tool that the model calls. */
  fromWire(wire: unknown): string {
    const name = this.#own.get(String(wire));
    if (name === undefined) throw new Error(`it called the tool '${String(wire)}', which it was not offered`);
    return name;
  }
}
