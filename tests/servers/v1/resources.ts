import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type Resource,
  type ResourceTemplate,
} from '@modelcontextprotocol/sdk/types.js';
import { page } from '../shared/page.ts';
import { syncSubscriptions, type V1Session, type V1State } from './state.ts';

const PAGE = 2;

const RESOURCES: readonly Resource[] = [
  { uri: 'test://text', name: 'text', title: 'A text', mimeType: 'text/plain', size: 5 },
  { uri: 'test://blob', name: 'blob', mimeType: 'application/octet-stream' },
  { uri: 'test://watched', name: 'watched', description: 'Can be subscribed to', mimeType: 'text/plain' },
  { uri: 'test://json', name: 'json', mimeType: 'application/json', annotations: { priority: 0.3 } },
  { uri: 'test://meta', name: 'meta', _meta: { 'vendor.example/resource': true } },
];

const TEMPLATES: readonly ResourceTemplate[] = [
  { uriTemplate: 'test://item/{id}', name: 'item', title: 'An item', mimeType: 'text/plain' },
];

function contentsOf(uri: string) {
  switch (uri) {
    case 'test://text':
      return { uri, mimeType: 'text/plain', text: 'hello' };
    case 'test://blob':
      return { uri, mimeType: 'application/octet-stream', blob: 'AAEC/w==' };
    case 'test://watched':
      return { uri, mimeType: 'text/plain', text: 'watched' };
    case 'test://json':
      return { uri, mimeType: 'application/json', text: '{"a":1}' };
    case 'test://meta':
      return { uri, text: 'meta', _meta: { 'vendor.example/contents': 1 } };
    default: {
      const id = /^test:\/\/item\/([^/]+)$/.exec(uri)?.[1];
      if (id === undefined) throw new McpError(-32002, 'Resource not found', { uri });
      return { uri, mimeType: 'text/plain', text: `item ${id}` };
    }
  }
}

export function serveResources(server: Server, state: V1State, session: V1Session): void {
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { items, next } = page(RESOURCES, PAGE, params?.cursor);
    return { resources: items, ...next };
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
    const { items, next } = page(TEMPLATES, PAGE, params?.cursor);
    return { resourceTemplates: items, ...next };
  });
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [contentsOf(params.uri)] }));
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    session.subscriptions.add(params.uri);
    syncSubscriptions(state);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    session.subscriptions.delete(params.uri);
    syncSubscriptions(state);
    return {};
  });
}
