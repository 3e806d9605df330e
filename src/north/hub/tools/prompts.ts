import * as z from 'zod';
import { json, READS_SERVER, tool } from '../tool.ts';
import { serverName, shortText } from './arguments.ts';
import { listTool } from './from-servers.ts';
import { requestOn } from './request-on.ts';

export const promptTools = [
  listTool('list_prompts', 'List prompts of the servers.', 'prompts'),
  tool({
    name: 'get_prompt',
    description: 'Get a prompt of a server, with arguments filled in.',
    input: () =>
      z.object({ server: serverName, name: shortText, arguments: z.record(z.string(), z.string()).optional() }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server, name, arguments: filled }, context) =>
      json(await requestOn(context, server, 'prompts/get', { name, ...(filled && { arguments: filled }) })),
  }),
];
