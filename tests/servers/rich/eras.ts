/** What the two rich servers do differently, because their eras do. */
import { ICONS, vendor, vendorMeta } from './vendor.ts';
import { LEVELS, META, metaOf, Refusal, type Era, type Json, type Request, type Visitor } from './wire.ts';

export const INFO: Json = {
  name: 'rich',
  version: '1.2.3-rich',
  title: 'Rich ✓',
  description: 'A server that says all there is to say',
  websiteUrl: 'https://example.com/rich',
  icons: ICONS,
  ...vendor('serverInfo'),
};

const ABOUT: Json = {
  capabilities: {
    experimental: { 'com.example/try': { depth: 2, ...vendor('experimental') } },
    extensions: { 'com.example/extension': { version: 3 } },
    logging: { 'x-logging': 1 },
    completions: {},
    prompts: { listChanged: true, 'x-prompts': 1 },
    resources: { subscribe: true, listChanged: true },
    tools: { listChanged: true },
    ...vendor('capabilities'),
  },
  instructions: 'First read `rich://text`.\n\nThen ✓.\n',
  ...vendor('hello'),
};

export interface Manners {
  /** A complete result of that method. */
  finish(method: string, result: Json): Json;
  readonly notFound: number;
  caller(request: Request, visitor: Visitor): Json;
  level(request: Request, visitor: Visitor): string | undefined;
}

/** Different for each, and with the scopes and times that one may use. */
const CACHING: Record<string, Json> = {
  'server/discover': { ttlMs: 3_600_000, cacheScope: 'public' },
  'tools/list': { ttlMs: 60_000, cacheScope: 'public', 'x-cache': 1 },
  'prompts/list': { ttlMs: 0, cacheScope: 'private' },
  'resources/list': { ttlMs: 1, cacheScope: 'private' },
  'resources/templates/list': { ttlMs: 86_400_000, cacheScope: 'public' },
  'resources/read': { ttlMs: 60_000, cacheScope: 'private' },
};

/** Servers should name themselves in every result, but need not. */
const NAMELESS = new Set(['prompts/get', 'vendor/echo']);

export const MANNERS: Record<Era, Manners> = {
  legacy: {
    finish: (_method, result) => result,
    notFound: -32_002,
    caller: (_request, { caller }) => caller,
    level: (_request, { level }) => level,
  },
  modern: {
    finish: (method, result) => ({
      resultType: 'complete',
      ...CACHING[method],
      ...result,
      ...(!NAMELESS.has(method) && { _meta: { ...metaOf(result), [META.serverInfo]: INFO } }),
    }),
    notFound: -32_602,
    caller: ({ params }) => {
      const meta = metaOf(params);
      return { clientInfo: meta[META.clientInfo], capabilities: meta[META.clientCapabilities] };
    },
    level: ({ params }) => levelIn(metaOf(params)[META.logLevel]),
  },
};

export function levelIn(given: unknown): string | undefined {
  if (given === undefined || LEVELS.includes(given as string)) return given as string | undefined;
  throw new Refusal({ code: -32_602, message: `Invalid log level: ${JSON.stringify(given)}`, data: { known: LEVELS } });
}

export function initialized(): Json {
  return { protocolVersion: '2025-11-25', serverInfo: INFO, ...ABOUT, ...vendorMeta('hello') };
}

export function discovered(): Json {
  return { supportedVersions: ['2026-07-28'], ...ABOUT, ...vendorMeta('hello') };
}
