import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { richResult } from '../shared/rich.ts';
import { workInSteps } from '../shared/steps.ts';
import { milliseconds, text, tool, type V1Tool } from './tool.ts';

export const basicTools: readonly V1Tool[] = [
  tool(
    {
      name: 'echo',
      title: 'Echo',
      description: 'Returns the text it was given',
      input: z.object({ text: z.string() }),
      annotations: { title: 'Echo', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    (args) => text(args.text),
  ),
  tool(
    {
      name: 'slow',
      description: 'Answers after `ms`, with `steps` progress notifications on the way',
      input: z.object({ ms: milliseconds, text: z.string().optional(), steps: z.number().int().min(1).optional() }),
    },
    async (args, { extra }) => {
      await workInSteps(args, {
        progressToken: extra._meta?.progressToken,
        tell: (notification) => extra.sendNotification(notification),
        signal: extra.signal,
      });
      return text(args.text ?? 'done');
    },
  ),
  tool(
    {
      name: 'ignore_cancel',
      description: 'Works on for `ms` after it is cancelled; only the end of its session stops it',
      input: z.object({ ms: milliseconds }),
    },
    async (args, { extra, session, state }) => {
      const { signal } = session.ended;
      if (!extra.signal.aborted) await once(extra.signal, 'abort', { signal });
      await delay(args.ms, undefined, { signal });
      state.calls.push({ tool: 'ignore_cancel.finished', args });
      return text('ignored');
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
  tool(
    { name: 'fail', description: 'A tool error, after `ms`', input: z.object({ ms: milliseconds.optional() }) },
    async ({ ms }) => {
      if (ms !== undefined) await delay(ms);
      return { content: [{ type: 'text', text: 'disk on fire' }], isError: true };
    },
  ),
  tool({ name: 'rpc_error', description: 'A protocol error', input: z.object({}) }, () => {
    throw new McpError(-32011, 'quota used up', { retryAfter: 7 });
  }),
  tool(
    { name: 'big', description: 'A text of that many bytes', input: z.object({ bytes: z.number().int().min(0) }) },
    (args) => text('x'.repeat(args.bytes)),
  ),
];
