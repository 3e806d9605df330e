import * as z from 'zod';
import { json, jsonBlock, own, READS_SERVER, tool, type Annotations, type HubTool } from '../tool.ts';
import { serverName } from './arguments.ts';
import { listTool } from './from-servers.ts';
import { onServer, requestOn } from './request-on.ts';

const uri = z.string().min(1).max(8192);

const SUBSCRIBES: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

export const resourceTools = [
  listTool('list_resources', 'List resources of the servers.', 'resources'),
  listTool('list_resource_templates', 'List resource templates of the servers.', 'templates'),
  tool({
    name: 'read_resource',
    description: 'Read a resource of a server.',
    input: () => z.object({ server: serverName, uri }),
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
  subscriptionTool(
    'subscribe',
    'Get a notification event when a resource changes.',
    (wanted) => `subscribed to ${wanted}`,
  ),
  subscriptionTool(
    'unsubscribe',
    'Stop the notifications about a resource.',
    (wanted) => `unsubscribed from ${wanted}`,
  ),
];

function subscriptionTool(
  change: 'subscribe' | 'unsubscribe',
  description: string,
  message: (wanted: string) => string,
): HubTool {
  return tool({
    name: `${change}_resource`,
    description,
    input: () => z.object({ server: serverName, uri }),
    annotations: SUBSCRIBES,
    showsServers: true,
    run: async ({ server, uri: wanted }, context) => {
      await onServer(context, server, `resources/${change}`, async (_connection, signal) =>
        context.session[change](server, wanted, signal),
      );
      return json({ success: true, message: message(wanted) });
    },
  });
}
