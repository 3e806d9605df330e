import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { AGE_FORM, greeting, nameForm, refusal } from '../shared/forms.ts';
import { richResult } from '../shared/rich.ts';
import { plainTool, taskTool, text, ToolFault, type PlainTool, type TaskTool } from './tool.ts';

const milliseconds = z.number().int().min(0).max(3_600_000);

export const TASK_TOOLS: readonly TaskTool[] = [
  taskTool(
    {
      name: 'slow',
      description: 'Ends after `ms`, and tells of `steps` on the way: in the status message, or as progress',
      input: z.object({
        ms: milliseconds,
        text: z.string().optional(),
        steps: z.number().int().min(1).optional(),
        by: z.enum(['status', 'progress']).default('status'),
      }),
    },
    async ({ ms, text: said = 'done', steps, by }, work) => {
      const total = steps ?? 1;
      for (let step = 1; step <= total; step += 1) {
        if (steps !== undefined && by === 'status') await work.say(`step ${step}`);
        if (steps !== undefined && by === 'progress') await work.progress(step, total, `step ${step}`);
        await delay(ms / total, undefined, { signal: work.signal });
      }
      return text(said);
    },
  ),
  taskTool(
    { name: 'hold', description: 'Ends when the test says so', input: z.object({ text: z.string().optional() }) },
    async (args, work) => {
      await work.released;
      return text(args.text ?? 'released');
    },
  ),
  taskTool(
    {
      name: 'required',
      description: 'Cannot be called without a task',
      taskSupport: 'required',
      input: z.object({ text: z.string().optional() }),
    },
    async (args) => text(args.text ?? 'as a task'),
  ),
  taskTool(
    {
      name: 'ask',
      description: 'Asks for a name and greets it',
      input: z.object({ message: z.string().optional(), field: z.string().optional() }),
    },
    async ({ message, field }, work) => text(greeting(await work.elicit(nameForm(message, field)), field)),
  ),
  taskTool(
    { name: 'ask_twice', description: 'Asks for a name, then for an age', input: z.object({}) },
    async (_args, work) => {
      const name = await work.elicit(nameForm());
      const refused = refusal(name);
      if (refused !== undefined) return text(refused);
      const age = await work.elicit(AGE_FORM);
      return text(refusal(age) ?? `${greeting(name)}, ${String(age.content?.['age'])}`);
    },
  ),
  taskTool(
    { name: 'ask_both', description: 'Asks for a name and for an age at once', input: z.object({}) },
    async (_args, work) => {
      const [name, age] = await Promise.all([work.elicit(nameForm()), work.elicit(AGE_FORM)]);
      return text(refusal(name) ?? refusal(age) ?? `${greeting(name)}, ${String(age.content?.['age'])}`);
    },
  ),
  taskTool(
    {
      name: 'sample',
      description: 'Asks the model of the client, and returns the answer as JSON',
      input: z.object({ prompt: z.string() }),
    },
    async ({ prompt }, work) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
      return text(JSON.stringify(await work.sample({ messages, maxTokens: 64 })));
    },
  ),
  taskTool({ name: 'fail', description: 'A tool error', input: z.object({}) }, async () => ({
    ...text('disk on fire'),
    isError: true,
  })),
  taskTool({ name: 'rpc_error', description: 'A protocol error', input: z.object({}) }, async () => {
    throw new ToolFault(-32011, 'quota used up', { retryAfter: 7 });
  }),
  taskTool({ name: 'rich', description: 'Every kind of content block', input: z.object({}) }, async () => richResult()),
];

export const PLAIN_TOOLS: readonly PlainTool[] = [
  plainTool(
    { name: 'echo', description: 'Returns the text it was given', input: z.object({ text: z.string() }) },
    (args) => text(args.text),
  ),
  plainTool(
    { name: 'linger', description: 'Slow, and not as a task', input: z.object({ ms: milliseconds }) },
    async ({ ms }) => {
      await delay(ms, undefined, { ref: false });
      return text('lingered');
    },
  ),
  plainTool({ name: 'pid', description: 'The process id of the server', input: z.object({}) }, () =>
    text(String(process.pid)),
  ),
  plainTool(
    { name: 'crash', description: 'Ends the server without an answer', input: z.object({}) },
    (_args, crash) => {
      crash();
      return text('survived');
    },
  ),
];

/** `tool` or `tool:text`. */
export function labelOf(tool: string, args: Record<string, unknown>): string {
  return typeof args['text'] === 'string' ? `${tool}:${args['text']}` : tool;
}
