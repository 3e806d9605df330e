import { LoggingLevelSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { count, text, tool, type V1Tool } from './tool.ts';

export const notifyTools: readonly V1Tool[] = [
  tool(
    {
      name: 'notify',
      description: 'Sends `count` numbered notifications on the stream of its call, or outside it',
      input: z.object({ count, detached: z.boolean().optional() }),
    },
    async (args, { extra, session }) => {
      for (let i = 0; i < args.count; i += 1) {
        const notification = { method: 'notifications/resources/updated' as const, params: { uri: `test://n/${i}` } };
        if (args.detached === true) await session.server.notification(notification);
        else await extra.sendNotification(notification);
      }
      return text(`sent ${args.count}`);
    },
  ),
  tool(
    {
      name: 'list_changed',
      description: 'Says that the tools, the resources and the prompts changed',
      input: z.object({}),
    },
    async (_args, { session }) => {
      await session.server.sendToolListChanged();
      await session.server.sendResourceListChanged();
      await session.server.sendPromptListChanged();
      return text('changed');
    },
  ),
  tool(
    {
      name: 'log',
      description: 'Sends `count` log messages, unless the client asked for higher levels only',
      input: z.object({ count, level: LoggingLevelSchema }),
    },
    async (args, { extra, session }) => {
      const severity = LoggingLevelSchema.options;
      const wanted = session.logLevel ?? 'debug';
      const heard = severity.indexOf(args.level) >= severity.findIndex((level) => level === wanted);
      if (!heard) return text('filtered');
      for (let n = 0; n < args.count; n += 1) {
        const params = { level: args.level, logger: 'test', data: { n } };
        await extra.sendNotification({ method: 'notifications/message', params });
      }
      return text(`logged ${args.count}`);
    },
  ),
  tool(
    {
      name: 'touch',
      description: 'Tells every session that subscribes to the resource',
      input: z.object({ uri: z.string() }),
    },
    async (args, { state }) => {
      const subscribers = [...state.sessions].filter((session) => session.subscriptions.has(args.uri));
      await Promise.all(subscribers.map(({ server }) => server.sendResourceUpdated({ uri: args.uri })));
      return text(`touched ${subscribers.length}`);
    },
  ),
];
