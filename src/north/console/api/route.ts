import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { AnswerWork } from '../work/work.ts';
import type { Person } from '../person.ts';
import type { Services } from './services.ts';

export interface RouteCall<Query, Body> extends Services {
  person: Person;
  /** When the sign-in expires; absent for tokens. */
  expires?: number | undefined;
  /** Where the person answers from. */
  via: AnswerWork['via'];
  /** The value of `{id}` or `{name}`. */
  named: string;
  query: Query;
  body: Body;
  req: IncomingMessage;
  res: ServerResponse;
}

/** The answer of a route; `undefined` if it writes the response itself. */
export interface RouteReply {
  status?: number;
  body: unknown;
}

/** One route: used to validate requests and to generate the OpenAPI file. */
export interface ApiRoute {
  method: 'GET' | 'POST';
  /** Below `/api/v1`. */
  path: string;
  summary: string;
  query?: z.ZodObject | undefined;
  body?: z.ZodType | undefined;
  /** By status, without those that every route may send. */
  replies: Record<number, { description: string; schema?: z.ZodType; type?: string }>;
  run: (call: RouteCall<never, never>) => Promise<RouteReply | undefined>;
}

/** Ties the input types of `run` to the schemas that validate it. */
export function defineRoute<
  Q extends z.ZodObject = z.ZodObject<Record<string, never>>,
  B extends z.ZodType = z.ZodNever,
>(
  definition: Omit<ApiRoute, 'query' | 'body' | 'run'> & {
    query?: Q;
    body?: B;
    run: (call: RouteCall<z.output<Q>, z.output<B>>) => Promise<RouteReply | undefined>;
  },
): ApiRoute {
  return definition;
}
