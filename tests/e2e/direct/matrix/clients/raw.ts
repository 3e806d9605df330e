/** Clients of the modern era by hand: what goes over HTTP, and nothing else. */
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { ServerConfig } from '../../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../../support/hub.ts';
import { answerTo, nameIn } from '../answers.ts';
import type { Via } from '../cells.ts';
import { calledWith, INFO, note, type Asked, type CallOptions, type Called, type MatrixClient } from '../client.ts';
import { MODERN } from './v2.ts';

const TASKS = { 'io.modelcontextprotocol/tasks': {} };

export const rawRounds = async (config: ServerConfig): Promise<MatrixClient> => open(config, false);

export const rawTasks = async (config: ServerConfig): Promise<MatrixClient> => open(config, true);

type InputRequests = Record<string, { method: string; params?: Json }>;

interface ModernResult extends Json {
  resultType?: string;
  inputRequests?: InputRequests;
  requestState?: string;
  taskId?: string;
  status?: string;
  pollIntervalMs?: number;
  result?: Json;
  error?: RpcError;
}

interface RpcError {
  code: number;
  message: string;
}

async function open(config: ServerConfig, hasTasks: boolean): Promise<MatrixClient> {
  if (!('url' in config)) throw new Error('only HTTP is spoken by hand');
  const client = new RawClient(config.url, hasTasks);
  await client.request('server/discover', {});
  return {
    asked: client.asked,
    call: (tool, args, options) => client.call(tool, args, options),
    pid: () => undefined,
    close: async () => {},
  };
}

class RawClient {
  readonly asked: Asked[] = [];
  readonly #url: string;
  readonly #hasTasks: boolean;
  readonly #capabilities: Json;
  #requests = 0;

  constructor(url: string, hasTasks: boolean) {
    this.#url = url;
    this.#hasTasks = hasTasks;
    this.#capabilities = { elicitation: { form: {} }, sampling: {}, ...(hasTasks && { extensions: TASKS }) };
  }

  async call(tool: string, args: Json = {}, options: CallOptions = {}): Promise<Called> {
    const params = { name: tool, arguments: args };
    const { signal, onProgress } = options;
    // A call that will be a task is cancelled by the name of that; any other can only be left.
    const open = { ...(signal && !this.#hasTasks && { signal }), ...(onProgress && { onProgress }) };
    let result = await this.request('tools/call', params, open);
    while (result.resultType === 'input_required') {
      const { inputRequests = {}, requestState } = result;
      const inputResponses = this.#answers(inputRequests, 'round', nameIn(args));
      result = await this.request('tools/call', { ...params, inputResponses, requestState }, open);
    }
    if (result.resultType !== 'task') return calledWith(complete(result), false);
    return this.#follow(result, nameIn(args), signal);
  }

  async #follow(task: ModernResult, callOf: string, signal: AbortSignal | undefined): Promise<Called> {
    const taskId = String(task.taskId);
    const answered = new Set<string>();
    let cancelled = false;
    let seen = task;
    for (;;) {
      if (signal?.aborted && !cancelled) {
        cancelled = true;
        await this.request('tasks/cancel', { taskId });
      }
      seen = await this.request('tasks/get', { taskId });
      switch (seen.status) {
        case 'working':
          break;
        case 'input_required': {
          const all = Object.entries(seen.inputRequests ?? {}).filter(([key]) => !answered.has(key));
          if (all.length === 0) break;
          for (const [key] of all) answered.add(key);
          const inputResponses = this.#answers(Object.fromEntries(all), 'task', callOf);
          await this.request('tasks/update', { taskId, inputResponses });
          break;
        }
        case 'completed':
          return calledWith(seen.result ?? {}, true);
        case undefined:
        default:
          throw new Error(`the task is ${seen.status}: ${seen.error?.message}`);
      }
      await delay(seen.pollIntervalMs ?? 100);
    }
  }

  async request(method: string, params: Json, { signal, onProgress }: CallOptions = {}): Promise<ModernResult> {
    this.#requests += 1;
    const id = this.#requests;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': INFO,
      'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
      ...(onProgress && { progressToken: id }),
    };
    const name = params['name'] ?? params['taskId'];
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': name }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
      ...(signal && { signal }),
    });
    const messages = messagesIn(await response.text());
    for (const message of messages.filter((each) => 'method' in each)) {
      if (message['method'] !== 'notifications/progress') throw new Error(`unexpected: ${JSON.stringify(message)}`);
      onProgress?.((message['params'] as { message?: string }).message);
    }
    const { result, error } = messages.find((message) => message['id'] === id) ?? {};
    if (result !== undefined) return result as ModernResult;
    const { code, message } = (error ?? { code: response.status, message: 'no answer' }) as RpcError;
    throw new Error(`${method}: ${code} ${message}`);
  }

  #answers(requests: InputRequests, via: Via, callOf: string): Json {
    return Object.fromEntries(
      Object.entries(requests).map(([key, { method, params = {} }]) => {
        this.asked.push(note(method, params, via, callOf));
        return [key, answerTo(method, params)];
      }),
    );
  }
}

function complete(result: ModernResult): Json {
  if (result.resultType === 'complete') return result;
  throw new Error(`a call does not end with '${result.resultType}'`);
}

function messagesIn(text: string): Json[] {
  if (text.startsWith('{')) return [JSON.parse(text) as Json];
  const messages: Json[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') messages.push(JSON.parse(data) as Json);
    },
  });
  parser.feed(text);
  return messages;
}
