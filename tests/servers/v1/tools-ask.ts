import { setTimeout as delay } from 'node:timers/promises';
import {
  ElicitResultSchema,
  type ElicitRequestFormParams,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { AGE_FORM, greeting, HUMAN_TIMEOUT, nameForm, refusal } from '../shared/forms.ts';
import { milliseconds, text, tool, type ToolContext, type V1Tool } from './tool.ts';

/** On the call's own stream; withdrawn when the call is cancelled. */
function ask({ extra }: ToolContext, params: ElicitRequestFormParams, signal = extra.signal): Promise<ElicitResult> {
  return extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, {
    timeout: HUMAN_TIMEOUT,
    signal,
  });
}

export const askTools: readonly V1Tool[] = [
  tool(
    {
      name: 'ask',
      description: 'Asks for a name, at once or after `ms`, and greets it',
      input: z.object({
        message: z.string().optional(),
        field: z.string().optional(),
        ms: milliseconds.optional(),
      }),
    },
    async (args, context) => {
      await delay(args.ms, undefined, { signal: context.extra.signal });
      return text(greeting(await ask(context, nameForm(args.message, args.field)), args.field));
    },
  ),
  tool(
    { name: 'ask_twice', description: 'Asks for a name, then for an age', input: z.object({}) },
    async (_args, context) => {
      const name = await ask(context, nameForm());
      const refused = refusal(name);
      if (refused !== undefined) return text(refused);
      const age = await ask(context, AGE_FORM);
      return text(refusal(age) ?? `${greeting(name)}, ${String(age.content?.['age'])}`);
    },
  ),
  tool(
    { name: 'ask_detached', description: 'Asks outside the stream of its call', input: z.object({}) },
    async (_args, { session, extra }) => {
      const request = { method: 'elicitation/create' as const, params: nameForm() };
      const options = { timeout: HUMAN_TIMEOUT, signal: extra.signal };
      return text(greeting(await session.server.request(request, ElicitResultSchema, options)));
    },
  ),
  tool(
    {
      name: 'ask_url',
      description: 'Sends the user to a URL, whether or not the client declared that mode',
      input: z.object({ url: z.url().optional() }),
    },
    async (args, { extra }) => {
      const url = args.url ?? 'https://example.com/authorize?state=1';
      const params = { mode: 'url' as const, message: 'Please sign in', elicitationId: crypto.randomUUID(), url };
      const result = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, {
        timeout: HUMAN_TIMEOUT,
        signal: extra.signal,
      });
      return text(refusal(result) ?? 'signed in');
    },
  ),
  tool(
    {
      name: 'withdraw',
      description: 'Asks, and takes the question back after `ms`',
      input: z.object({ ms: milliseconds }),
    },
    async (args, context) => {
      const withdrawal = new AbortController();
      const answered = new AbortController();
      const question = ask(context, nameForm(), AbortSignal.any([context.extra.signal, withdrawal.signal]));
      const clock = delay(args.ms, undefined, { signal: answered.signal });
      const first = await Promise.race([question, clock]).finally(() => answered.abort());
      if (first !== undefined) return text(greeting(first));
      withdrawal.abort('no longer needed');
      return text('withdrew');
    },
  ),
];
