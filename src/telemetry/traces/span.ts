/** Spans, and how they are written in the JSON encoding of OTLP. */

import { randomBytes } from 'node:crypto';
import { plainText, stringifyExact } from '../../lib/exact-json.ts';
import { VERSION } from '../../lib/version.ts';

/** Identifies a span, also in other programs. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  sampled: boolean;
}

export type AttributeValue = string | number | undefined;

/** A span that has ended. */
export interface Span extends Omit<SpanContext, 'sampled'> {
  parentId: string | undefined;
  name: string;
  kind: 'server' | 'client';
  /** In milliseconds. */
  start: number;
  end: number;
  attributes: Record<string, AttributeValue>;
  link: SpanContext | undefined;
  failed: boolean;
}

const KINDS = { server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Names and addresses of clients and servers are cut: many spans may wait in memory. */
const MAX_CHARS = 512;
const SAMPLED = 1;

export const newSpanId = (): string => randomDigits(16);
export const newTraceId = (): string => randomDigits(32);

/** Made ahead for many ids: a call to the generator takes longer than all else that a span needs. */
let digits = '';

function randomDigits(count: number): string {
  if (digits.length < count) digits = randomBytes(2048).toString('hex');
  const taken = digits.slice(0, count);
  digits = digits.slice(count);
  return taken;
}

export function formatContext({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Takes a valid `traceparent`. */
export function readContext(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-');
  return { traceId, spanId, sampled: (parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The body of a request to a collector. */
export function encodeSpans(spans: readonly Span[], resource: Record<string, string>): string {
  return stringifyExact({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'meanwhile', version: VERSION }, spans: spans.map(encodeSpan) }],
      },
    ],
  });
}

function encodeSpan({ traceId, spanId, parentId, name, kind, start, end, attributes, link, failed }: Span): unknown {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name: shortText(name),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: encodeAttributes(attributes),
    ...(link && { links: [{ traceId: link.traceId, spanId: link.spanId }] }),
    status: failed ? { code: STATUS_ERROR } : {},
  };
}

function encodeAttributes(attributes: Record<string, AttributeValue>): unknown[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    // In this encoding, integers of 64 bits are texts.
    return [
      { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: shortText(value) } },
    ];
  });
}

function shortText(text: string): string {
  return plainText(text.slice(0, MAX_CHARS));
}

/** With the precision of microseconds. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1000)}000`;
}
