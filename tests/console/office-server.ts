/** A server that asks in every way there is, and answers with every kind of content. */
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  Server,
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { listen } from '../servers/shared/http-host.ts';
import { EVIL, EVIL_NAME } from './evil.ts';
import { PICTURE, SOUND } from './media.ts';

type Outcome = CallToolResult | InputRequiredResult;

interface OfficeTool {
  definition: Tool;
  run(args: Record<string, unknown>, context: ServerContext): Promise<Outcome> | Outcome;
}

export interface Office {
  url: string;
  /** A web page of the server. */
  page: string;
  /** What was answered, in order. */
  answers: Record<string, unknown>[];
  close(): Promise<void>;
}

const choices = (...titles: [string, string][]): { const: string; title: string }[] =>
  titles.map(([value, title]) => ({ const: value, title }));

/** Every type of field, with titles, defaults, formats and limits. */
export const EVERY_FIELD = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'As on the door', minLength: 2, maxLength: 30 },
    comment: { type: 'string', title: 'Comment', maxLength: 1000 },
    email: { type: 'string', title: 'E-mail', format: 'email' },
    website: { type: 'string', title: 'Website', format: 'uri' },
    day: { type: 'string', title: 'Day', format: 'date' },
    pickup: { type: 'string', title: 'Pick-up', format: 'date-time' },
    weight: { type: 'number', title: 'Weight', minimum: 0.5, maximum: 10 },
    count: { type: 'integer', title: 'Pieces', minimum: 1, maximum: 5, default: 2 },
    gift: { type: 'boolean', title: 'Gift wrap' },
    size: { type: 'string', title: 'Size', oneOf: choices(['s', 'Small'], ['m', 'Medium'], ['l', 'Large']) },
    colour: { type: 'string', title: 'Colour', enum: ['red', 'green', 'blue', 'black', 'white', 'grey', 'pink'] },
    extras: {
      type: 'array',
      title: 'Extras',
      items: { anyOf: choices(['card', 'A card'], ['bow', 'A bow'], ['ribbon', 'A ribbon']) },
      minItems: 1,
      maxItems: 2,
    },
    days: { type: 'array', title: 'Days', items: { type: 'string', enum: ['mon', 'tue'] }, default: ['tue'] },
  },
  required: ['name', 'email', 'count', 'gift', 'size', 'extras'],
};

/** Elicitation knows only flat forms, and servers send others all the same. */
const NESTED = {
  type: 'object',
  properties: {
    place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    nights: { type: 'integer', title: 'Nights', minimum: 1 },
  },
  required: ['place', 'nights'],
};

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

/** Asks once, and tells the client the answer. */
function asking(
  name: string,
  request: (args: Record<string, unknown>) => InputRequest,
  answers: Office['answers'],
): OfficeTool {
  return {
    definition: { name, description: `Asks: ${name}`, inputSchema: { type: 'object' } },
    run: (args, { mcpReq }) => {
      const response = inputResponse(mcpReq.inputResponses, 'it');
      if (response.kind === 'missing') return inputRequired({ inputRequests: { it: request(args) } });
      answers.push({ ...response });
      return text(`Answered: ${JSON.stringify(response)}`);
    },
  };
}

function tools(answers: Office['answers'], page: () => string): OfficeTool[] {
  const elicit = (message: string, requestedSchema: object): InputRequest =>
    inputRequired.elicit({ mode: 'form', message, requestedSchema: requestedSchema as never });
  return [
    asking('order', () => elicit('What may it be?\nTake your time.', EVERY_FIELD), answers),
    asking(
      'approve',
      ({ what = 'it' }) =>
        elicit(`Approve ${String(what)}?`, {
          type: 'object',
          properties: { ok: { type: 'boolean', title: 'Approve' } },
          required: ['ok'],
        }),
      answers,
    ),
    asking(
      'visit',
      () => inputRequired.elicitUrl({ message: 'Please sign in.', url: `${page()}/welcome?state=1` }),
      answers,
    ),
    asking(
      'think',
      () =>
        inputRequired.createMessage({
          systemPrompt: 'You are brief.',
          messages: [
            { role: 'user', content: { type: 'text', text: 'What is in the picture?' } },
            { role: 'user', content: { type: 'image', data: PICTURE, mimeType: 'image/png' } },
            { role: 'user', content: { type: 'audio', data: SOUND, mimeType: 'audio/wav' } },
          ],
          maxTokens: 100,
        }),
      answers,
    ),
    {
      definition: {
        name: 'show',
        title: 'Show everything',
        description: 'Every kind of content',
        inputSchema: {
          type: 'object',
          properties: {
            title: { type: 'string', description: 'For the chart' },
            options: { type: 'object', properties: { deep: { type: 'boolean' } } },
          },
          required: ['title'],
        },
      },
      run: ({ title, options }) => ({
        content: [
          { type: 'text', text: `Chart ${String(title)} ${JSON.stringify(options ?? null)}` },
          { type: 'image', data: PICTURE, mimeType: 'image/png' },
          { type: 'image', data: 'bm90IGFuIGltYWdl', mimeType: 'image/png' },
          { type: 'audio', data: SOUND, mimeType: 'audio/wav' },
          { type: 'resource_link', uri: `${page()}/welcome`, name: 'welcome' },
          { type: 'resource_link', uri: 'javascript:alert(1)', name: 'script' },
        ],
        structuredContent: { sold: [3, 5, 8] },
      }),
    },
    {
      definition: {
        name: 'prepare',
        description: 'Makes progress, asks, and goes on',
        inputSchema: { type: 'object' },
      },
      run: async (_args, { mcpReq }) => {
        const response = inputResponse(mcpReq.inputResponses, 'it');
        const done = response.kind === 'missing' ? 1 : 2;
        const progressToken = mcpReq._meta?.progressToken ?? '';
        const params = { progressToken, progress: done, total: 4, message: `step ${done} of 4` };
        await mcpReq.notify({ method: 'notifications/progress', params });
        if (response.kind !== 'missing') return text('Prepared');
        return inputRequired({ inputRequests: { it: elicit('Go on?', { type: 'object', properties: {} }) } });
      },
    },
    {
      definition: { name: 'wide', description: 'Asks what no form can express', inputSchema: { type: 'object' } },
      run: (_args, { mcpReq }) => {
        const response = inputResponse(mcpReq.inputResponses, 'it');
        if (response.kind === 'missing') return inputRequired({ inputRequests: { it: elicit('Where to?', NESTED) } });
        answers.push({ ...response });
        return text('There');
      },
    },
    {
      definition: { name: 'huge', description: 'Returns a long text', inputSchema: { type: 'object' } },
      run: ({ bytes = 10 * 1024 * 1024 }) => text('0123456789abcdef'.repeat(Number(bytes) / 16)),
    },
    {
      definition: {
        name: 'pick',
        description: 'Takes one of two kinds of arguments',
        inputSchema: { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      },
      run: (args) => text(`Picked ${JSON.stringify(args)}`),
    },
    {
      definition: { name: EVIL_NAME, title: EVIL, description: EVIL, inputSchema: evilForm() as Tool['inputSchema'] },
      run: (_args, { mcpReq }) => {
        const response = inputResponse(mcpReq.inputResponses, 'it');
        if (response.kind === 'missing') return inputRequired({ inputRequests: { it: elicit(EVIL, evilForm()) } });
        return {
          content: [
            { type: 'text', text: EVIL },
            { type: 'image', data: 'AAAA', mimeType: 'image/svg+xml" onerror="window.pwned=1' },
            { type: 'resource_link', uri: 'javascript:window.pwned=1', name: EVIL, title: EVIL, description: EVIL },
          ],
          structuredContent: { [EVIL]: EVIL },
          isError: true,
        };
      },
    },
  ];
}

const evilForm = (): object => ({
  type: 'object',
  properties: {
    [EVIL]: { type: 'string', title: EVIL, description: EVIL, default: EVIL },
    choice: { type: 'string', title: EVIL, oneOf: choices([EVIL, EVIL]) },
  },
});

export async function startOffice(): Promise<Office> {
  const answers: Office['answers'] = [];
  const address = { page: '' };
  const all = tools(answers, () => address.page);
  const handler = createMcpHandler(
    () => {
      const server = new Server(
        { name: 'office', title: EVIL, version: '1.0.0' },
        { capabilities: { tools: {} }, instructions: EVIL },
      );
      server.setRequestHandler('tools/list', () => ({ tools: all.map(({ definition }) => definition) }));
      server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, context) => {
        const tool = all.find(({ definition }) => definition.name === name);
        if (tool === undefined) throw new Error(`no tool ${name}`);
        return tool.run(args, context);
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const handle = toNodeHandler(handler);
  const host = await listen({
    port: undefined,
    onerror: () => {},
    handle: async (request, response) => {
      if (request.url?.startsWith('/welcome')) response.end('<title>Welcome</title>');
      else await handle(request as NodeIncomingMessageLike, response);
    },
  });
  address.page = `http://127.0.0.1:${host.port}`;
  return {
    url: `${address.page}/mcp`,
    page: address.page,
    answers,
    close: async () => {
      await handler.close();
      await host.close();
    },
  };
}
