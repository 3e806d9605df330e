import {
  CreateMessageResultSchema,
  CreateMessageResultWithToolsSchema,
  type CreateMessageRequestParams,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { PNG } from '../shared/rich.ts';
import { text, tool, type V1Tool } from './tool.ts';

const TIMEOUT = 600_000;

function userSays(prompt: string) {
  return [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
}

/** Both return the answer they got, as JSON. */
export const sampleTools: readonly V1Tool[] = [
  tool(
    { name: 'sample', description: 'Asks the model of the client', input: z.object({ prompt: z.string() }) },
    async (args, { extra }) => {
      const params = {
        messages: userSays(args.prompt),
        maxTokens: 64,
        systemPrompt: 'Be brief.',
        temperature: 0.2,
        modelPreferences: { hints: [{ name: 'small' }], speedPriority: 0.9 },
      };
      const options = { timeout: TIMEOUT, signal: extra.signal };
      const request = { method: 'sampling/createMessage' as const, params };
      return text(JSON.stringify(await extra.sendRequest(request, CreateMessageResultSchema, options)));
    },
  ),
  tool(
    {
      name: 'sample_tools',
      description: 'Asks the model of the client and offers it a tool, and asks again with its result if there is one',
      input: z.object({ prompt: z.string().optional(), result: z.string().optional() }),
    },
    async (args, { extra }) => {
      const params: CreateMessageRequestParams = {
        messages: userSays(args.prompt ?? 'What is the weather in Oslo?'),
        maxTokens: 64,
        tools: [
          {
            name: 'weather',
            description: 'The weather of a city',
            inputSchema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
          },
        ],
        toolChoice: { mode: 'required' },
      };
      const options = { timeout: TIMEOUT, signal: extra.signal };
      const sample = () =>
        extra.sendRequest(
          { method: 'sampling/createMessage' as const, params },
          CreateMessageResultWithToolsSchema,
          options,
        );
      const first = await sample();
      const used = [first.content].flat().filter((block) => block.type === 'tool_use');
      if (args.result === undefined || used.length === 0) return text(JSON.stringify(first));
      const { result } = args;
      const results = used.map(({ id }) => ({
        type: 'tool_result' as const,
        toolUseId: id,
        content: [
          { type: 'text' as const, text: result },
          { type: 'image' as const, data: PNG, mimeType: 'image/png' },
        ],
      }));
      params.messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: results });
      return text(JSON.stringify(await sample()));
    },
  ),
];
