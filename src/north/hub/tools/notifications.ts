import * as z from 'zod';
import { settleWith } from '../reply.ts';
import { json, READS, tool } from '../tool.ts';
import { serverName } from './arguments.ts';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export const notificationTools = [
  tool({
    name: 'get_notifications',
    description: 'List new notifications of the servers; with include_delivered, also recent ones.',
    input: z.object({ server: serverName.optional(), include_delivered: z.boolean().default(false) }),
    annotations: READS,
    run: async ({ server, include_delivered }, context) => {
      const { session, reader } = context;
      const delivery = session.events.take(
        (event) => event.type === 'notification' && (server === undefined || event.server === server),
        reader,
      );
      settleWith(context, delivery);
      if (!include_delivered) {
        return json({ notifications: delivery.events.map((event) => ({ server: event.server, ...event.data })) });
      }
      const notifications = session.notifications(server).map(({ timestamp, ...rest }) => ({
        ...rest,
        timestamp: new Date(timestamp).toISOString(),
      }));
      return json({ notifications });
    },
  }),
  tool({
    name: 'get_logs',
    description: 'List recent log messages and stderr lines of the servers.',
    input: z.object({
      server: serverName.optional(),
      level: z.enum(LEVELS).optional().describe('This level and above'),
      limit: z.number().int().min(1).max(5000).default(100),
      source: z.enum(['protocol', 'stderr', 'stdout']).optional(),
    }),
    annotations: READS,
    run: async ({ server, level, limit, source }, { session }) => {
      const least = level === undefined ? 0 : severity(level);
      const logs = session
        .logs(server)
        .filter((entry) => (source === undefined || entry.source === source) && severity(entry.level) >= least)
        .slice(-limit)
        .map(({ timestamp, ...entry }) => ({ ...entry, timestamp: new Date(timestamp).toISOString() }));
      return json({ logs });
    },
  }),
];

/** Levels that the protocol does not know count as information. */
function severity(level: string): number {
  const known = LEVELS.indexOf(level);
  return known >= 0 ? known : LEVELS.indexOf('info');
}
