import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { AnswerWork } from '../work/work.ts';
import type { Person } from '../person.ts';
import type { Services } from './services.ts';

export interface RouteCall<Query, Body> extends Services {
  person: Person;
  /** Until when the person is signed in; without an end for those with a token. */
  expires?: number | undefined;
  /** Where the person is, for those who see who answered. */
  via: AnswerWork['via'];
  /** What stands in the place of `{id}` or `{name}`. */
  named: string;
  query: Query;
  body: Body;
  req: IncomingMessage;
  res: ServerResponse;
}

/** What a route answers; nothing if it writes the response itself. */
export interface RouteReply {
  status?: number;
  body: unknown;
}

/** One route, as requests are validated by it and as the OpenAPI file describes it. */
export interface Route {
  method: 'GET' | 'POST';
  /** Below `/api/v1`. */
  path: string;
  summary: string;
  query?: z.ZodObject | undefined;
  body?: z.ZodType | undefined;
  /** By status; the ones that every route may give are left out. */
  replies: Record<number, { description: string; schema?: z.ZodType; type?: string }>;
  run: (call: RouteCall<never, never>) => Promise<RouteReply | undefined>;
}

/** Ties what `run` gets to the schemas that have checked it. */
export function route<Q extends z.ZodObject = z.ZodObject<Record<string, never>>, B extends z.ZodType = z.ZodNever>(
  definition: Omit<Route, 'query' | 'body' | 'run'> & {
    query?: Q;
    body?: B;
    run: (call: RouteCall<z.output<Q>, z.output<B>>) => Promise<RouteReply | undefined>;
  },
): Route {
  return definition;
}
