/** A collector of traces on loopback, which refuses what is not OTLP in JSON. The test owns it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import * as z from 'zod';
import { listen } from '../servers/shared/http-host.ts';
import { owned } from './owned.ts';

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: 'server' | 'client';
  attributes: Record<string, string | number>;
  links: { traceId: string; spanId: string }[];
  failed: boolean;
  /** In milliseconds. */
  start: number;
  end: number;
  resource: Record<string, string | number>;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Each request: its path and headers. */
  requests: { path: string; headers: IncomingHttpHeaders }[];
  /** What was wrong with them. */
  mistakes: string[];
  /** What the next requests are answered with; 200 after these. */
  statuses: (number | 'silence')[];
  close(): Promise<void>;
}

const attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.union([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: z.string().regex(/^\d+$/) }),
    ]),
  }),
);
const traceId = z.string().regex(/^(?!0{32})[0-9a-f]{32}$/);
const spanId = z.string().regex(/^(?!0{16})[0-9a-f]{16}$/);
const moment = z.string().regex(/^\d{19}$/);
const span = z.strictObject({
  traceId,
  spanId,
  parentSpanId: spanId.optional(),
  name: z.string().min(1),
  kind: z.union([z.literal(2), z.literal(3)]),
  startTimeUnixNano: moment,
  endTimeUnixNano: moment,
  attributes,
  links: z.array(z.strictObject({ traceId, spanId })).optional(),
  status: z.strictObject({ code: z.literal(2).optional() }),
});
const body = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.literal('meanwhile'), version: z.string() }),
          spans: z.array(span).min(1),
        }),
      ),
    }),
  ),
});

export async function startCollector(): Promise<Collector> {
  const collector: Omit<Collector, 'url' | 'close'> = { spans: [], requests: [], mistakes: [], statuses: [] };
  const host = await listen({
    port: undefined,
    onerror: (error) => collector.mistakes.push(String(error)),
    handle: async (request, response) => {
      const text = await textOf(request);
      collector.requests.push({ path: request.url ?? '', headers: request.headers });
      const status = collector.statuses.shift() ?? 200;
      if (status === 'silence') return;
      if (status === 200) {
        const parsed = body.safeParse(JSON.parse(text));
        if (parsed.success) collector.spans.push(...collected(parsed.data));
        else collector.mistakes.push(z.prettifyError(parsed.error));
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    },
  });
  return owned({ ...collector, url: `http://127.0.0.1:${host.port}`, close: async () => host.close() });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function collected({ resourceSpans }: z.infer<typeof body>): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((each) => ({
        traceId: each.traceId,
        spanId: each.spanId,
        parentSpanId: each.parentSpanId,
        name: each.name,
        kind: each.kind === 2 ? ('server' as const) : ('client' as const),
        attributes: recordOf(each.attributes),
        links: each.links ?? [],
        failed: each.status.code === 2,
        start: Number(each.startTimeUnixNano) / 1e6,
        end: Number(each.endTimeUnixNano) / 1e6,
        resource: recordOf(resource.attributes),
      })),
    ),
  );
}

function recordOf(list: z.infer<typeof attributes>): Record<string, string | number> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : value.stringValue]),
  );
}
