import { setTimeout as delay } from 'node:timers/promises';
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';

const STEP_MS = 500;
const STAGES = ['collecting figures', 'comparing with last year', 'drawing conclusions', 'writing it down'];

export function addReport(server: McpServer): void {
  server.registerTool(
    'slow_report',
    {
      title: 'Slow report',
      description: 'Writes a short report about a topic. Takes as long as you say and reports progress on the way.',
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

/** Ends early, with an error, when the caller cancels. */
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
