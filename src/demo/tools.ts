/** The tools of the demo server: one takes long, one asks the person, one asks for a model, one cannot be undone. */

import { setTimeout as delay } from 'node:timers/promises';
import { inputRequired, inputResponse, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';

const STEP_MS = 500;
const STAGES = ['collecting figures', 'comparing with last year', 'drawing conclusions', 'writing it down'];

export function addReport(server: McpServer): void {
  server.registerTool(
    'slow_report',
    {
      title: 'Slow report',
      description: 'Writes a short report about a topic. Takes as long as you set, and reports progress.',
      inputSchema: z.object({
        topic: z.string().min(1).max(200).describe('What the report is about'),
        seconds: z.number().min(0).max(600).default(8).describe('How long it takes'),
      }),
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ topic, seconds }, { mcpReq }) => {
      await work(seconds, mcpReq);
      const text = `Report on ${topic}: after ${seconds} s of careful work, everything points upwards.`;
      return { content: [{ type: 'text', text }] };
    },
  );
}

/** Throws when the caller cancels. */
async function work(seconds: number, mcpReq: ServerContext['mcpReq']): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  const totalMs = seconds * 1000;
  for (let doneMs = 0; doneMs < totalMs; doneMs += STEP_MS) {
    if (progressToken !== undefined) {
      const message = STAGES[Math.floor((doneMs / totalMs) * STAGES.length)] ?? 'working';
      const params = { progressToken, progress: doneMs / 1000, total: seconds, message };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    await delay(Math.min(STEP_MS, totalMs - doneMs), undefined, { signal: mcpReq.signal });
  }
}

const SEATING = ['inside', 'outside', 'bar'] as const;

const input = z.object({
  restaurant: z.string().min(1).max(100).describe('Name of the restaurant'),
  people: z.int().min(1).max(20).describe('How many people'),
  time: z.string().min(1).max(100).describe('When, e.g. "tonight 19:30"'),
});

/** The completed form. */
const answer = z.object({
  confirm: z.boolean(),
  seating: z.enum(SEATING).default('inside'),
  note: z.string().optional(),
});

export function addBooking(server: McpServer): void {
  server.registerTool(
    'book_table',
    {
      title: 'Book a table',
      description: 'Books a table at a restaurant (not really). Asks the user to confirm before it books.',
      inputSchema: input,
      outputSchema: z.object({ booked: z.boolean(), reference: z.string().optional() }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    },
    (booking, { mcpReq }) => {
      const response = inputResponse(mcpReq.inputResponses, 'confirmation');
      if (response.kind !== 'elicit') return inputRequired({ inputRequests: { confirmation: askFor(booking) } });
      if (response.action !== 'accept') return notBooked(`the question was answered with '${response.action}'`);
      const given = answer.safeParse(response.content);
      if (!given.success) throw new Error(`the answer does not match the form: ${z.prettifyError(given.error)}`);
      if (!given.data.confirm) return notBooked('it was not confirmed');
      return booked(booking, given.data);
    },
  );
}

function askFor({ restaurant, people, time }: z.infer<typeof input>) {
  return inputRequired.elicit({
    mode: 'form',
    message: `Book a table for ${people} at ${restaurant}, ${time}?`,
    requestedSchema: {
      type: 'object',
      properties: {
        confirm: { type: 'boolean', title: 'Book it' },
        seating: { type: 'string', title: 'Where to sit', enum: [...SEATING], default: 'inside' },
        note: { type: 'string', title: 'A note for the restaurant', maxLength: 200 },
      },
      required: ['confirm'],
    },
  });
}

function booked({ restaurant, people, time }: z.infer<typeof input>, { seating, note }: z.infer<typeof answer>) {
  const reference = `DEMO-${people}${restaurant.slice(0, 3).toUpperCase()}`;
  const remark = note ? ` Your note: ${note}` : '';
  const text = `Booked: ${restaurant}, ${time}, ${people} people, ${seating}. Reference ${reference}.${remark}`;
  return { content: [{ type: 'text' as const, text }], structuredContent: { booked: true, reference } };
}

function notBooked(why: string) {
  return { content: [{ type: 'text' as const, text: `Not booked: ${why}.` }], structuredContent: { booked: false } };
}

export function addCancellation(server: McpServer): void {
  server.registerTool(
    'cancel_booking',
    {
      title: 'Cancel a booking',
      description: 'Cancels a booking (not really). This cannot be undone.',
      inputSchema: z.object({ reference: z.string().min(1).max(100).describe('As book_table returns it') }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ reference }) => ({ content: [{ type: 'text', text: `Cancelled: ${reference}.` }] }),
  );
}

const MAX_TOKENS = 200;

export function addSummary(server: McpServer): void {
  server.registerTool(
    'summarize',
    {
      title: 'Summarize',
      description: 'Summarizes a text in one sentence. Has no model of its own, so it asks the client for one.',
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
