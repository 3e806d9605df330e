/** The OpenAPI description of the API, made from the routes and the schemas that validate requests. */

import * as z from 'zod';
import { VERSION } from '../../../lib/version.ts';
import type { ApiRoute } from './route.ts';
import { ROUTES } from './routes.ts';
import {
  beginBody,
  begunSchema,
  choicesSchema,
  errorSchema,
  signedInSchema,
  signedOutSchema,
  signInBody,
} from './schemas.ts';

type Json = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const COMPONENTS = '#/components/schemas/';

/** The replies that every route may send besides its own. */
const COMMON: [status: number, description: string][] = [
  [400, 'A parameter or the body is not valid; the message names it'],
  [401, 'Not signed in'],
  [403, 'A foreign origin, or an unknown host'],
  [503, 'The gateway is shutting down, or its store cannot be reached'],
];

export function openApi(): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of ROUTES) {
    const path = (paths[`/api/v1${route.path}`] ??= {});
    path[route.method.toLowerCase()] = operation(route, schemas);
  }
  paths['/api/v1/openapi.json'] = {
    get: { summary: 'Returns this description', security: [], responses: { 200: { description: 'OpenAPI 3.1' } } },
  };
  paths['/console/sign-in'] = {
    get: {
      summary: 'Lists the issuers that people can sign in with',
      security: [],
      responses: { 200: reply({ description: 'In the order of the configuration', schema: choicesSchema }, schemas) },
    },
    post: signIn(schemas),
  };
  paths['/console/sign-in/begin'] = {
    post: {
      summary: 'Starts a sign-in with an issuer, in the browser that sends the request',
      security: [],
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: reference(beginBody, schemas, 'input') } } },
      responses: {
        200: reply({ description: 'Where to go', schema: begunSchema }, schemas),
        503: reply({ description: 'The issuer cannot be reached', schema: errorSchema }, schemas),
      },
    },
  };
  paths['/console/sign-out'] = {
    post: {
      summary: 'Signs out',
      security: [],
      responses: {
        200: reply(
          {
            description: 'The cookie is cleared; the person is still signed in at the issuer',
            schema: signedOutSchema,
          },
          schemas,
        ),
        204: { description: 'The cookie is cleared' },
      },
    },
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Meanwhile',
      version: VERSION,
      description: 'The API of the console. See docs/API.md for sign-in, events and limits.',
    },
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token from auth.tokens, or the key of the launch link',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'meanwhile_console_…',
          description:
            'Set by POST /console/sign-in. Requests also need its pageKey in the header "Meanwhile-Console".',
        },
      },
    },
  };
}

function operation({ method, path, summary, query, body, replies }: ApiRoute, schemas: Json): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const common = COMMON.filter(([status]) => replies[status] === undefined).map(([status, description]) => [
    status,
    reply({ description, schema: errorSchema }, schemas),
  ]);
  if (inPath.length > 0)
    common.push([404, reply({ description: 'Unknown, or owned by another principal', schema: errorSchema }, schemas)]);
  const own = Object.entries(replies).map(([status, each]) => [status, reply(each, schemas)]);
  return {
    operationId: operationId(method, path),
    summary,
    ...((inPath.length > 0 || query) && { parameters: [...inPath, ...(query ? queryParameters(query, schemas) : [])] }),
    ...(body && {
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: reference(body, schemas, 'input') } } },
    }),
    responses: Object.fromEntries([...own, ...common]) as Json,
  };
}

/** `GET /questions/{id}` is `getQuestionsId`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^a-z]+/i).filter(Boolean);
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function reply({ description, schema, type = JSON_TYPE }: ApiRoute['replies'][number], schemas: Json): Json {
  if (schema === undefined) return { description, content: { [type]: {} } };
  return { description, content: { [type]: { schema: reference(schema, schemas, 'output') } } };
}

function queryParameters(query: z.ZodObject, schemas: Json): Json[] {
  const { properties = {} } = reference(query, schemas, 'input') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description !== undefined && { description }),
    schema,
  }));
}

function signIn(schemas: Json): Json {
  return {
    summary: 'Signs in with a token, or with the key of the launch link',
    security: [],
    requestBody: { required: true, content: { [JSON_TYPE]: { schema: reference(signInBody, schemas, 'input') } } },
    responses: {
      200: reply({ description: 'The cookie is set', schema: signedInSchema }, schemas),
      401: reply({ description: 'The key is unknown', schema: errorSchema }, schemas),
      429: reply({ description: 'Too many wrong keys', schema: errorSchema }, schemas),
    },
  };
}

/** A schema with an id becomes a component, and so does each one in it. */
function reference(schema: z.ZodType, schemas: Json, io: 'input' | 'output'): Json {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Json;
  const { $schema: _dialect, $defs = {}, id, ...own } = made as Json & { $defs?: Record<string, Json> };
  const fixed = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', `"${COMPONENTS}`)) as unknown;
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) schemas[name] = fixed(definition);
  if (typeof id !== 'string') return fixed(own) as Json;
  schemas[id] = fixed(own);
  return { $ref: `${COMPONENTS}${id}` };
}
