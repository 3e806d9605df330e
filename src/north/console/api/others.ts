import * as z from 'zod';
import { ALL_SERVERS } from '../../../core/groups.ts';
import { VERSION } from '../../../lib/version.ts';
import { liveSessions } from '../live/live-views.ts';
import { route } from './route.ts';
import { meSchema, sessionSchema } from './schemas.ts';

export const otherRoutes = [
  route({
    method: 'GET',
    path: '/me',
    summary: 'Who is signed in, and at which gateway',
    replies: { 200: { description: 'The person and the gateway', schema: meSchema } },
    run: async ({ gateway, person, history, startedAt, hubUrl }) => {
      const id = gateway.store.cluster?.gatewayId;
      return {
        body: {
          ...person,
          gateway: { ...(id !== undefined && { id }), version: VERSION, startedAt },
          history,
          ...(gateway.settings.audit && { audit: gateway.settings.audit }),
          endpoints: { hub: hubUrl, all: `${hubUrl}/${ALL_SERVERS}` },
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/sessions',
    summary: 'The sessions that gateways have in memory: who is connected, and what they hold',
    replies: { 200: { description: 'All sessions', schema: z.object({ items: z.array(sessionSchema) }) } },
    run: async ({ gateway, person }) => ({ body: { items: await liveSessions(gateway, person) } }),
  }),
];
