/** The trace context in the `_meta` of a request: W3C Trace Context and Baggage, under the names of their headers. */

import { isObject } from './values.ts';

type Params = Record<string, unknown>;

const KEYS = ['traceparent', 'tracestate', 'baggage'] as const;
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Longer values are not forwarded: the specification does not require more. */
const MAX_CHARS = 8192;

/** The trace context to forward to the server, for hub tools, which forward nothing else of `_meta`. */
export function traceContextIn({ _meta: meta }: Params): Record<string, string> | undefined {
  if (!isObject(meta)) return undefined;
  let context: Record<string, string> | undefined;
  for (const key of KEYS) {
    const value = meta[key];
    if (typeof value === 'string' && value.length <= MAX_CHARS) (context ??= {})[key] = value;
  }
  return context;
}

/** The identity of the span that a request belongs to, if it is valid. */
export function traceparentIn(meta: Params | undefined): string | undefined {
  const traceparent = meta?.['traceparent'];
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** The parameters with another trace context. */
export function withTraceContext(params: Params, context: Record<string, string> | undefined): Params {
  if (context === undefined) return params;
  const { _meta: meta } = params;
  return { ...params, _meta: { ...(isObject(meta) ? meta : {}), ...context } };
}
