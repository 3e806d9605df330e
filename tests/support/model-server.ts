/**
 * Endpoints of models on loopback that take the two wire formats as strictly as the real ones: what those refuse is refused
 * here, too, with their status and shape of errors. The test owns them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import { listen } from '../servers/shared/http-host.ts';
import { owned } from './owned.ts';

export type Api = 'openai' | 'anthropic';
type Json = Record<string, unknown>;

export const KEY = 'sk-test-0123456789abcdef';

/** What the model says next; a fault in place of it; or nothing at all. */
export type Turn =
  | { text?: string; calls?: { id: string; name: string; input: unknown }[]; stop?: string; usage?: [number, number] }
  | { status: number; headers?: Record<string, string>; body?: string }
  | { raw: string }
  | 'silence';

export interface ModelServer {
  /** Where the API begins, as the config has it. */
  url: string;
  /** The bodies that were taken as valid. */
  requests: Json[];
  /** The same as they came. */
  texts: string[];
  /** What was wrong with others. */
  mistakes: string[];
  /** How many requests came in all. */
  count: () => number;
  /** What the next requests are answered with; `Hello.` after these. */
  turns: Turn[];
  close(): Promise<void>;
}

/** `key`: the only one that it takes; `undefined` if it wants none. */
export async function startModelServer(api: Api, { key: right }: { key?: string } = {}): Promise<ModelServer> {
  let count = 0;
  const lists = { requests: [] as Json[], texts: [] as string[], mistakes: [] as string[], turns: [] as Turn[] };
  const server = { ...lists, count: () => count };
  const { path, check, answer } = api === 'openai' ? OPENAI : ANTHROPIC;
  const refuse = (response: ServerResponse, status: number, message: string): void => {
    server.mistakes.push(message);
    send(response, status, { error: { message, type: 'invalid_request_error' } });
  };
  const host = await listen({
    port: undefined,
    onerror: (error) => server.mistakes.push(String(error)),
    handle: async (request, response) => {
      count += 1;
      const text = await textOf(request);
      const { headers, method, url } = request;
      if (method !== 'POST' || url !== path) return refuse(response, 404, `no such route: ${method} ${url}`);
      const key = api === 'openai' ? headers.authorization?.replace(/^Bearer /, '') : headers['x-api-key'];
      if (key !== right) {
        return refuse(response, 401, `Incorrect API key provided: ${String(key).slice(0, 20)}…`);
      }
      if (headers['content-type'] !== 'application/json') return refuse(response, 415, 'not JSON');
      if (api === 'anthropic' && headers['anthropic-version'] !== '2023-06-01') {
        return refuse(response, 400, 'anthropic-version: header is required');
      }
      const turn = server.turns.shift() ?? { text: 'Hello.' };
      if (turn === 'silence') return;
      if ('status' in turn) {
        response.writeHead(turn.status, { 'content-type': 'application/json', ...turn.headers });
        response.end(turn.body ?? JSON.stringify({ error: { message: `fault ${turn.status}` } }));
        return;
      }
      const body = JSON.parse(text) as Json;
      const mistake = check(body);
      if (mistake !== undefined) return refuse(response, 400, mistake);
      server.requests.push(body);
      server.texts.push(text);
      if ('raw' in turn) response.writeHead(200, { 'content-type': 'application/json' }).end(turn.raw);
      else send(response, 200, answer(turn, body));
    },
  });
  const base = `http://127.0.0.1:${host.port}`;
  return owned({ ...server, url: api === 'openai' ? `${base}/v1` : base, close: async () => host.close() });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

type Said = Extract<Turn, { text?: string }>;

interface Format {
  path: string;
  check: (body: Json) => string | undefined;
  answer: (turn: Said, body: Json) => Json;
}

const base64 = z.string().regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const objectSchema = z.looseObject({ type: z.literal('object') });

const problemIn = (schema: z.ZodType, body: Json): string | undefined => {
  const { error } = schema.safeParse(body);
  return error && z.prettifyError(error);
};

// --- Chat completions --------------------------------------------------------------------------------------------

const openaiPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().min(1) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string().regex(/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/) }),
  }),
  z.strictObject({
    type: z.literal('input_audio'),
    input_audio: z.strictObject({ data: base64, format: z.enum(['wav', 'mp3']) }),
  }),
]);

const openaiCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({
    name: toolName,
    arguments: z.string().refine((text) => typeof JSON.parse(text) === 'object'),
  }),
});

const openaiMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string().min(1) }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string().min(1), z.array(openaiPart).min(1)]) }),
  z
    .strictObject({
      role: z.literal('assistant'),
      content: z.string().nullable(),
      tool_calls: z.array(openaiCall).min(1).optional(),
    })
    .refine(({ content, tool_calls }) => content !== null || tool_calls !== undefined, 'content is required'),
  z.strictObject({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: z.string() }),
]);

const openaiBody = z
  .strictObject({
    model: z.string().min(1),
    messages: z.array(openaiMessage).min(1),
    max_tokens: z.int().min(1),
    temperature: z.number().min(0).max(2).optional(),
    stop: z.array(z.string().min(1)).min(1).max(4).optional(),
    tools: z
      .array(
        z.strictObject({
          type: z.literal('function'),
          function: z.strictObject({ name: toolName, description: z.string().optional(), parameters: objectSchema }),
        }),
      )
      .min(1)
      .optional(),
    tool_choice: z.enum(['auto', 'required', 'none']).optional(),
  })
  .refine(({ tools, tool_choice }) => tools !== undefined || tool_choice === undefined, 'tool_choice without tools');

/** Calls must be followed by one result for each of them, and results must follow calls. */
function openaiOrder(messages: z.infer<typeof openaiMessage>[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'system' && index > 0) return 'a system message must come first';
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id))
        return `messages with role 'tool' must follow a message with 'tool_calls'`;
      continue;
    }
    if (open.size > 0) return `tool_call_ids did not have response messages: ${[...open].join()}`;
    if (message.role === 'assistant') open = new Set(message.tool_calls?.map(({ id }) => id));
  }
  return open.size > 0 ? `tool_call_ids did not have response messages: ${[...open].join()}` : undefined;
}

const OPENAI: Format = {
  path: '/v1/chat/completions',
  check: (body) => problemIn(openaiBody, body) ?? openaiOrder((body as z.infer<typeof openaiBody>).messages),
  answer: ({ text, calls, stop, usage: [before, after] = [11, 7] }, { model }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: `${String(model)}-2026`,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text ?? null,
          refusal: null,
          ...(calls && {
            tool_calls: calls.map(({ id, name, input }) => ({
              id,
              type: 'function',
              function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
            })),
          }),
        },
        finish_reason: stop ?? (calls ? 'tool_calls' : 'stop'),
      },
    ],
    usage: { prompt_tokens: before, completion_tokens: after, total_tokens: before + after },
  }),
};

// --- Messages ----------------------------------------------------------------------------------------------------

const anthropicText = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });
const anthropicImage = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({
    type: z.literal('base64'),
    media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
    data: base64.min(1),
  }),
});
const toolId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const anthropicUser = z.discriminatedUnion('type', [
  anthropicText,
  anthropicImage,
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: toolId,
    content: z.array(z.discriminatedUnion('type', [anthropicText, anthropicImage])),
    is_error: z.boolean().optional(),
  }),
]);
const anthropicAssistant = z.discriminatedUnion('type', [
  anthropicText,
  z.strictObject({ type: z.literal('tool_use'), id: toolId, name: toolName, input: z.looseObject({}) }),
]);

const anthropicBody = z
  .strictObject({
    model: z.string().min(1),
    max_tokens: z.int().min(1),
    messages: z
      .array(
        z.discriminatedUnion('role', [
          z.strictObject({ role: z.literal('user'), content: z.array(anthropicUser).min(1) }),
          z.strictObject({ role: z.literal('assistant'), content: z.array(anthropicAssistant).min(1) }),
        ]),
      )
      .min(1),
    system: z.string().min(1).optional(),
    temperature: z.number().min(0).max(1).optional(),
    stop_sequences: z.array(z.string().min(1)).min(1).optional(),
    tools: z
      .array(z.strictObject({ name: toolName, description: z.string().optional(), input_schema: objectSchema }))
      .min(1)
      .optional(),
    tool_choice: z.strictObject({ type: z.enum(['auto', 'any', 'none']) }).optional(),
  })
  .refine(({ tools, tool_choice }) => tools !== undefined || tool_choice === undefined, 'tool_choice without tools');

/** Roles alternate, beginning with the user; each tool use is followed at once by its result, which comes first. */
function anthropicOrder(messages: z.infer<typeof anthropicBody>['messages']): string | undefined {
  let used: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) return `messages.${index}: roles must alternate`;
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    if (content.slice(0, results.length).some(({ type }) => results.length > 0 && type !== 'tool_result')) {
      return `messages.${index}: tool_result blocks must come first`;
    }
    if (role === 'user' && results.toSorted().join() !== used.toSorted().join()) {
      return `messages.${index}: tool_result blocks ${results.join()} do not match tool_use ids ${used.join()}`;
    }
    used = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  }
  return undefined;
}

const ANTHROPIC: Format = {
  path: '/v1/messages',
  check: (body) => problemIn(anthropicBody, body) ?? anthropicOrder((body as z.infer<typeof anthropicBody>).messages),
  answer: ({ text, calls = [], stop, usage: [before, after] = [11, 7] }, { model }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: `${String(model)}-2026`,
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
    ],
    stop_reason: stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { input_tokens: before, output_tokens: after },
  }),
};
