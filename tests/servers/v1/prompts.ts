import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  McpError,
  type Prompt,
} from '@modelcontextprotocol/sdk/types.js';
import { page } from '../shared/page.ts';

const PAGE = 2;

const PROMPTS: readonly Prompt[] = [
  { name: 'plain', title: 'Plain', description: 'No arguments' },
  {
    name: 'greet',
    description: 'Greets somebody',
    arguments: [
      { name: 'who', description: 'Whom to greet', required: true },
      { name: 'tone', description: 'How' },
    ],
  },
  { name: 'meta', _meta: { 'vendor.example/prompt': 1 } },
];

function messageOf(name: string, args: Record<string, string>): string {
  switch (name) {
    case 'plain':
      return 'Say something plain.';
    case 'greet':
      if (args['who'] === undefined) throw new McpError(ErrorCode.InvalidParams, 'Missing argument: who');
      return `Greet ${args['who']} in a ${args['tone'] ?? 'kind'} tone.`;
    case 'meta':
      return 'Meta.';
    default:
      throw new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${name}`);
  }
}

export function servePrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => {
    const { items, next } = page(PROMPTS, PAGE, params?.cursor);
    return { prompts: items, ...next };
  });
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ({
    description: params.name,
    messages: [{ role: 'user', content: { type: 'text', text: messageOf(params.name, params.arguments ?? {}) } }],
  }));
}
