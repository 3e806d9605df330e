import { inputRequired, inputResponse, type McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const SEATING = ['inside', 'outside', 'bar'] as const;

const input = z.object({
  restaurant: z.string().min(1).max(100).describe('Name of the restaurant'),
  people: z.int().min(1).max(20).describe('How many people'),
  time: z.string().min(1).max(100).describe('When, e.g. "tonight 19:30"'),
});

/** What the form asks for, as it comes back. */
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
      if (!given.success) throw new Error(`the answer does not fit the form: ${z.prettifyError(given.error)}`);
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
