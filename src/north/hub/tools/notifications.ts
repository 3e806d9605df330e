import * as z from 'zod';
import { isoTime } from '../../../lib/clock.ts';
import { includes, isLevel, LEVELS } from '../../../lib/levels.ts';
import { settleWith } from '../reply.ts';
import { json, READS, tool } from '../tool.ts';
import { serverName } from './arguments.ts';

export const notificationTools = [
  tool({
    name: 'get_notifications',
    description: 'List new notifications from servers; with include_delivered, also recent ones.',
    input: () => z.object({ server: serverName.optional(), include_delivered: z.boolean().default(false) }),
    annotations: READS,
    run: async ({ server, include_delivered }, context) => {
      const { session, reader } = context;
      const delivery = session.events.take(
        (event) =>
          event.type === 'notification' &&
          (server === undefined || event.server === server) &&
          session.sees(event.server),
        reader,
      );
      settleWith(context, delivery);
      if (!include_delivered) {
        return json({ notifications: delivery.events.map((event) => ({ server: event.server, ...event.data })) });
      }
      return json({ notifications: session.connections.notifications(server).map(withIsoTime) });
    },
  }),
  tool({
    name: 'get_logs',
    description: 'List recent log messages and stderr lines of servers.',
    input: () =>
      z.object({
        server: serverName.optional(),
        level: z.enum(LEVELS).optional().describe('This level and above'),
        limit: z.number().int().min(1).max(5000).default(100),
        source: z.enum(['protocol', 'stderr', 'stdout']).optional(),
      }),
    annotations: READS,
    run: async ({ server, level, limit, source }, { session }) => {
      const logs = session.connections
        .logs(server)
        .filter(
          (entry) =>
            (source === undefined || entry.source === source) &&
            (level === undefined || includes(level, protocolLevel(entry.level))),
        )
        .slice(-limit)
        .map(withIsoTime);
      return json({ logs });
    },
  }),
];

function withIsoTime({ timestamp, ...entry }: { timestamp: number }): Record<string, unknown> {
  return { ...entry, timestamp: isoTime(timestamp) };
}

/** Unknown levels count as `info`. */
function protocolLevel(level: string): string {
  return isLevel(level) ? level : 'info';
}
