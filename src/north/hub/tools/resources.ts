import * as z from 'zod';
import { json, jsonBlock, own, READS_SERVER, tool, type Annotations } from '../tool.ts';
import { serverName } from './arguments.ts';
import { fromServers } from './from-servers.ts';
import { onServer, requestOn } from './request-on.ts';

const uri = z.string().min(1).max(8192);

const SUBSCRIBES: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

export const resourceTools = [
  tool({
    name: 'list_resources',
    description: 'List resources of the servers.',
    input: z.object({ server: serverName.optional() }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server }, { session }) => json(await fromServers(session, server, 'resources')),
  }),
  tool({
    name: 'list_resource_templates',
    description: 'List resource templates of the servers.',
    input: z.object({ server: serverName.optional() }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server }, { session }) => json(await fromServers(session, server, 'templates')),
  }),
  tool({
    name: 'read_resource',
    description: 'Read a resource of a server.',
    input: z.object({ server: serverName, uri }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server, uri: wanted }, context) => {
      const result = await requestOn(context, server, 'resources/read', { uri: wanted });
      const contents = Array.isArray(result['contents']) ? result['contents'] : [];
      // As embedded resources, so that text stays text, blobs stay blobs and both keep their type.
      const content = contents.map((resource: unknown) => ({ type: 'resource', resource }));
      return own({ content: content.length > 0 ? content : [jsonBlock({ contents: [] })] });
    },
  }),
  tool({
    name: 'subscribe_resource',
    description: 'Get a notification event when a resource changes.',
    input: z.object({ server: serverName, uri }),
    annotations: SUBSCRIBES,
    showsServers: true,
    run: async ({ server, uri: wanted }, context) => {
      await onServer(context, server, 'resources/subscribe', async (_connection, signal) =>
        context.session.subscribe(server, wanted, signal),
      );
      return json({ success: true, message: `subscribed to ${wanted}` });
    },
  }),
  tool({
    name: 'unsubscribe_resource',
    description: 'Stop the notifications about a resource.',
    input: z.object({ server: serverName, uri }),
    annotations: SUBSCRIBES,
    showsServers: true,
    run: async ({ server, uri: wanted }, context) => {
      await onServer(context, server, 'resources/unsubscribe', async (_connection, signal) =>
        context.session.unsubscribe(server, wanted, signal),
      );
      return json({ success: true, message: `unsubscribed from ${wanted}` });
    },
  }),
];
