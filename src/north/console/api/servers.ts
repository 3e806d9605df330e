import * as z from 'zod';
import { withFigures } from '../live/server-figures.ts';
import { liveServers } from '../live/live-views.ts';
import { mergedDetails, noServer } from '../live/servers.ts';
import type { Gateway } from '../../../core/gateway.ts';
import { ApiError } from '../api-error.ts';
import type { Person } from '../person.ts';
import { doAnywhere, lookEverywhere } from '../work/anywhere.ts';
import { requireCall } from './calls.ts';
import { callItem } from './items.ts';
import { defineRoute } from './route.ts';
import {
  callSchema,
  emptyBody,
  errorSchema,
  goneSchema,
  serverDetailsSchema,
  serverQuery,
  serverSchema,
  tryBody,
  type ServerDetails,
} from './schemas.ts';

export const serverRoutes = [
  defineRoute({
    method: 'GET',
    path: '/servers',
    summary: 'Lists the servers and the connections of sessions to them',
    replies: { 200: { description: 'All servers', schema: z.object({ items: z.array(serverSchema) }) } },
    run: async ({ gateway, person }) => ({
      body: { items: await withFigures(gateway, person, await liveServers(gateway, person)) },
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/servers/{name}',
    summary: 'Returns one server with its tools and its log',
    query: serverQuery,
    replies: { 200: { description: 'The server', schema: serverDetailsSchema } },
    run: async ({ gateway, person, named, query }) => ({
      body: await detailsOf(gateway, person, named, query.principal),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/servers/{name}/connect',
    summary: "Connects to a server in the person's console session and reads its tools",
    body: emptyBody,
    replies: {
      200: { description: 'The server', schema: serverDetailsSchema },
      502: {
        description: 'The server cannot be reached; the message gives the reason and the fix',
        schema: errorSchema,
      },
    },
    run: async ({ gateway, person, named }) => {
      await doAnywhere(gateway, person, { do: 'connect', server: named });
      return { body: await detailsOf(gateway, person, named) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/servers/{name}/calls',
    summary: "Calls a tool in the person's console session; progress and questions arrive as events",
    body: tryBody,
    replies: {
      202: { description: 'The started call', schema: callSchema },
      409: { description: 'The history is off', schema: errorSchema },
    },
    run: async ({ gateway, person, named, body }) => {
      if (gateway.recorder === undefined) throw historyOff();
      const work = { do: 'try' as const, server: named, tool: body.tool, arguments: body.arguments };
      const { callId } = (await doAnywhere(gateway, person, work)) as { callId: string };
      return { status: 202, body: callItem(await requireCall(gateway, person, callId)) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/servers/{name}/remove',
    summary: 'Removes a server that the person added with a client or the console; its running calls fail',
    body: emptyBody,
    replies: {
      200: { description: 'The server was removed', schema: goneSchema },
      403: { description: 'The server is in the config file', schema: errorSchema },
    },
    run: async ({ gateway, person, named }) => {
      await doAnywhere(gateway, person, { do: 'remove', server: named });
      return { body: { name: named, gone: true } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/demo',
    summary: 'Adds the demo server for the person and runs two of its tools: one reports progress, one asks a question',
    body: emptyBody,
    replies: {
      202: { description: 'The call that asks the question', schema: callSchema },
      403: { description: 'The person may not add servers', schema: errorSchema },
      409: { description: 'This gateway has no demo, or both of its names are taken', schema: errorSchema },
    },
    run: async ({ gateway, person, demo: config }) => {
      if (gateway.recorder === undefined) throw historyOff();
      if (config === undefined) throw new ApiError(409, 'no_demo', 'this gateway has no demo; run `meanwhile demo`');
      const { callId } = (await doAnywhere(gateway, person, { do: 'demo', config })) as { callId: string };
      return { status: 202, body: callItem(await requireCall(gateway, person, callId)) };
    },
  }),
];

function historyOff(): ApiError {
  return new ApiError(409, 'history_off', 'trying a tool needs the history; set history.keepMs above 0');
}

async function detailsOf(gateway: Gateway, person: Person, name: string, principal?: string): Promise<ServerDetails> {
  const found = await lookEverywhere(gateway, person, { do: 'server', server: name, principal });
  const server = mergedDetails(found as ServerDetails[]);
  if (server === undefined) throw noServer(gateway, person, name);
  const [withCalls = server] = await withFigures(gateway, person, [server]);
  return withCalls;
}
