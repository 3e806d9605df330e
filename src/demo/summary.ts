import { inputRequired, inputResponse, type McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const MAX_TOKENS = 200;

export function addSummary(server: McpServer): void {
  server.registerTool(
    'summarize',
    {
      title: 'Summarize',
      description: 'Summarizes a text in one sentence. Has no model of its own: asks the client for one.',
      inputSchema: z.object({ text: z.string().min(1).max(20_000).describe('The text to summarize') }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ text }, { mcpReq }) => {
      const response = inputResponse(mcpReq.inputResponses, 'summary');
      if (response.kind !== 'sampling') return inputRequired({ inputRequests: { summary: askModel(text) } });
      const { content, model } = response.result;
      const blocks = Array.isArray(content) ? content : [content];
      const summary = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
      if (summary === '') throw new Error(`the model ${model} answered without any text`);
      return { content: [{ type: 'text', text: `Summary by ${model}: ${summary}` }] };
    },
  );
}

function askModel(text: string) {
  return inputRequired.createMessage({
    systemPrompt: 'You summarize texts in one sentence.',
    messages: [{ role: 'user', content: { type: 'text', text: `Summarize in one sentence:\n\n${text}` } }],
    maxTokens: MAX_TOKENS,
  });
}
