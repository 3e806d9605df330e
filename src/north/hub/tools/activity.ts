import * as z from 'zod';
import { hasEnded } from '../../../core/task/task.ts';
import type { Delivery } from '../../../core/event/log.ts';
import { everythingIn, type Everything } from '../elsewhere.ts';
import { mayHear, settleWith } from '../reply.ts';
import { json, READS, tool, type ToolContext } from '../tool.ts';
import { elicitationBrief, eventView, workingTask } from '../views.ts';
import { shortText, waitMs } from './arguments.ts';

export const activityTools = [
  tool({
    name: 'await_activity',
    description:
      'Wait for the next event on any server: a question, a finished task, a notification. Returns at once if there are unseen events. Use it after execute_tool returned a task.',
    input: () =>
      z.object({
        timeout_ms: waitMs.default(30_000),
        last_event_id: shortText.optional().describe('Repeat events after this lastEventId'),
      }),
    annotations: READS,
    run: async ({ timeout_ms, last_event_id }, context) => {
      const { exchange, gateway } = context;
      const wait = Math.min(timeout_ms, gateway.settings.limits.waitMs);
      const triggers = await waitForTriggers(context, wait, last_event_id);
      // Before taking events, which a failure would lose.
      const { tasks, questions } = await everythingIn(context, 'open');
      const delivery = exchange.open ? takeEvents(context, last_event_id) : undefined;
      if (delivery) settleWith(context, delivery);
      const events = (delivery?.events ?? []).filter((event) => mayHear(context.session, event));
      const lastEventId = events.at(-1)?.id ?? last_event_id;
      return json({
        triggers,
        events: byServer(events).map(({ server, items }) => ({ server, events: items.map(eventView) })),
        pending_server: byServer(tasks.filter((task) => !hasEnded(task))).map(({ server, items }) => ({
          server,
          working_tasks: items.map(workingTask),
        })),
        pending_client: pendingClient(questions),
        ...(lastEventId !== undefined && { lastEventId }),
      });
    },
  }),
];

type Trigger =
  | { type: 'timeout' }
  | { type: 'immediate' }
  | { type: 'event'; server: string; eventType: string }
  | { type: 'server_disconnected'; server: string };

async function waitForTriggers(
  { session, exchange, reader }: ToolContext,
  timeoutMs: number,
  lastEventId: string | undefined,
): Promise<Trigger[]> {
  const { events } = session;
  const something = lastEventId === undefined ? events.hasNew(reader) : events.hasAfter(lastEventId, reader);
  if (something) return [{ type: 'immediate' }];
  const happened = await events.wait(timeoutMs, exchange.leavingSignal(), reader);
  if (happened.length === 0) return [{ type: 'timeout' }];
  const heard = happened.filter((event) => mayHear(session, event));
  return heard.map(({ type, server }) =>
    type === 'server_disconnected' ? { type, server } : { type: 'event', server, eventType: type },
  );
}

function takeEvents({ session, reader }: ToolContext, lastEventId: string | undefined): Delivery {
  const { events, access } = session;
  if (lastEventId !== undefined) return events.takeAfter(lastEventId, reader);
  return events.take(access && ((event) => mayHear(session, event)), reader);
}

/** Items of each server together, servers in the order of their first item. */
function byServer<T extends { server: string }>(items: T[]): { server: string; items: T[] }[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.server) ?? [];
    groups.set(item.server, group);
    group.push(item);
  }
  return [...groups].map(([server, group]) => ({ server, items: group }));
}

function pendingClient(questions: Everything['questions']): Record<string, unknown[]> {
  return {
    elicitations: questions('elicitation').map(elicitationBrief),
    sampling_requests: questions('sampling').map(({ id, server }) => ({ requestId: id, server })),
  };
}
