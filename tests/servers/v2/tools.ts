import {
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { richResult } from '../shared/rich.ts';
import { workInSteps } from '../shared/steps.ts';

export interface V2Tool {
  readonly definition: Tool;
  run(args: Record<string, unknown>, context: ServerContext): Promise<CallToolResult | InputRequiredResult>;
}

type Outcome = CallToolResult | InputRequiredResult;
type ToolSpec<S extends z.ZodObject> = Omit<Tool, 'inputSchema' | 'outputSchema'> & { input: S; output?: z.ZodObject };

function tool<S extends z.ZodObject>(
  { input, output, ...rest }: ToolSpec<S>,
  run: (args: z.infer<S>, context: ServerContext) => Promise<Outcome> | Outcome,
): V2Tool {
  return {
    definition: {
      ...rest,
      inputSchema: objectSchema(input),
      ...(output !== undefined && { outputSchema: objectSchema(output) }),
    },
    async run(args, context) {
      const parsed = input.safeParse(args);
      if (!parsed.success) throw new ProtocolError(ProtocolErrorCode.InvalidParams, z.prettifyError(parsed.error));
      return run(parsed.data, context);
    },
  };
}

function objectSchema(schema: z.ZodObject): Tool['inputSchema'] {
  return { ...z.toJSONSchema(schema, { io: 'input' }), type: 'object' } as Tool['inputSchema'];
}

function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] };
}

function askName(message = 'What is your name?') {
  return inputRequired.elicit({
    mode: 'form',
    message,
    requestedSchema: {
      type: 'object',
      properties: { name: { type: 'string', title: 'Name', minLength: 1 } },
      required: ['name'],
    },
  });
}

function askAge(name: string): InputRequiredResult {
  const age = inputRequired.elicit({
    mode: 'form',
    message: 'How old are you?',
    requestedSchema: {
      type: 'object',
      properties: { age: { type: 'integer', title: 'Age', minimum: 0, maximum: 150 } },
      required: ['age'],
    },
  });
  return inputRequired({ inputRequests: { age }, requestState: name });
}

type Answer =
  | { kind: 'missing' }
  | { kind: 'refused'; how: 'declined' | 'cancelled' }
  | { kind: 'accepted'; value: unknown };

/** The value of the only field of a form. */
function answerTo(field: string, { mcpReq }: ServerContext): Answer {
  const response = inputResponse(mcpReq.inputResponses, field);
  if (response.kind !== 'elicit') return { kind: 'missing' };
  switch (response.action) {
    case 'accept':
      return { kind: 'accepted', value: response.content?.[field] };
    case 'decline':
      return { kind: 'refused', how: 'declined' };
    case 'cancel':
      return { kind: 'refused', how: 'cancelled' };
  }
}

export const TOOLS: readonly V2Tool[] = [
  tool(
    {
      name: 'echo',
      title: 'Echo',
      description: 'Returns the text it was given',
      input: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    (args) => text(args.text),
  ),
  tool(
    {
      name: 'slow',
      description: 'Answers after `ms`, with `steps` progress notifications on the way',
      input: z.object({
        ms: z.number().int().min(0),
        text: z.string().optional(),
        steps: z.number().int().min(1).optional(),
      }),
    },
    async (args, { mcpReq }) => {
      await workInSteps(args, {
        progressToken: mcpReq._meta?.progressToken,
        tell: (notification) => mcpReq.notify(notification),
        signal: mcpReq.signal,
      });
      return text(args.text ?? 'done');
    },
  ),
  tool(
    {
      name: 'ask',
      description: 'Asks for a name and greets it',
      input: z.object({ message: z.string().optional() }),
    },
    (args, context) => {
      const name = answerTo('name', context);
      if (name.kind === 'missing') return inputRequired({ inputRequests: { name: askName(args.message) } });
      return text(name.kind === 'refused' ? name.how : `Hello ${String(name.value)}`);
    },
  ),
  tool(
    {
      name: 'ask_then_work',
      description: 'Asks for a name, works for `ms` and greets it',
      input: z.object({ ms: z.number().int().min(0) }),
    },
    async (args, context) => {
      const name = answerTo('name', context);
      if (name.kind === 'missing') return inputRequired({ inputRequests: { name: askName() } });
      await workInSteps(args, { progressToken: undefined, tell: async () => {}, signal: context.mcpReq.signal });
      return text(name.kind === 'refused' ? name.how : `Hello ${String(name.value)}`);
    },
  ),
  tool(
    { name: 'ask_twice', description: 'Asks for a name, then for an age', input: z.object({}) },
    (_args, context) => {
      // The second round knows the name only from the state the client carries.
      const name = context.mcpReq.requestState<string>();
      const answer = answerTo(name === undefined ? 'name' : 'age', context);
      switch (answer.kind) {
        case 'missing':
          return name === undefined ? inputRequired({ inputRequests: { name: askName() } }) : askAge(name);
        case 'refused':
          return text(answer.how);
        case 'accepted':
          return name === undefined ? askAge(String(answer.value)) : text(`Hello ${name}, ${String(answer.value)}`);
      }
    },
  ),
  tool(
    { name: 'sample', description: 'Asks the model of the client', input: z.object({ prompt: z.string() }) },
    (args, { mcpReq }) => {
      const response = inputResponse(mcpReq.inputResponses, 'sample');
      if (response.kind === 'sampling') return text(JSON.stringify(response.result));
      return inputRequired({
        inputRequests: {
          sample: inputRequired.createMessage({
            messages: [{ role: 'user', content: { type: 'text', text: args.prompt } }],
            maxTokens: 64,
          }),
        },
      });
    },
  ),
  tool(
    {
      name: 'rich',
      title: 'Everything at once',
      description: 'Every kind of content block',
      input: z.object({}),
      output: z.object({ total: z.number(), items: z.array(z.string()) }),
      _meta: { 'vendor.example/tool': { tier: 2 } },
    },
    () => richResult(),
  ),
  tool({ name: 'fail', description: 'A tool error', input: z.object({}) }, () => ({
    content: [{ type: 'text', text: 'disk on fire' }],
    isError: true,
  })),
  tool({ name: 'rpc_error', description: 'A protocol error', input: z.object({}) }, () => {
    throw new ProtocolError(-32011, 'quota used up', { retryAfter: 7 });
  }),
];
