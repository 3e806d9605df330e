/** Creates spans from observed events, by the OpenTelemetry conventions for MCP. */

import type { InteractionKind } from '../../core/interaction/interaction.ts';
import type { ObservedQuestion, ObservedRequest, ObservedServerRequest, Operation } from '../../core/observer.ts';
import { isText } from '../../lib/exact-json.ts';
import { metaOf } from '../../lib/meta.ts';
import { traceparentIn } from '../../lib/trace-context.ts';
import type { Sampler } from './sampler.ts';
import { formatContext, newSpanId, newTraceId, readContext, type Span, type SpanContext } from './span.ts';

interface TracerParts {
  sampler: Sampler;
  /** Takes spans that have ended. */
  export: (span: Span) => void;
}

/** What is known of a span when it begins. */
type Beginning = Pick<Span, 'name' | 'kind' | 'attributes'> & {
  parent: SpanContext | undefined;
  link: SpanContext | undefined;
};

const ASKING: Record<InteractionKind, string> = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

export class Tracer {
  /** The spans of the requests to servers that are open, by the ids under which questions name them. */
  readonly #open = new Map<string, SpanContext>();
  readonly #parts: TracerParts;

  constructor(parts: TracerParts) {
    this.#parts = parts;
  }

  clientRequest({ id, method, params, view, protocolVersion, taskTrace }: ObservedRequest): Operation {
    const target = targetOf(method, params);
    return this.#begin(
      {
        name: nameOf(method, target),
        kind: 'server',
        attributes: {
          ...methodAttributes(method, target),
          'mcp.protocol.version': protocolVersion,
          'mcp.resource.uri': isText(params['uri']) ? params['uri'] : undefined,
          'jsonrpc.request.id': String(id),
          'meanwhile.view': view,
        },
        parent: contextIn(traceparentIn(metaOf(params))),
        link: contextIn(taskTrace()),
      },
      isServerError,
    );
  }

  /** Requests that the gateway makes on its own belong to no trace and create none. */
  serverRequest({ server, url, method, target, meta, callId, resumed }: ObservedServerRequest): Operation | undefined {
    const caller = contextIn(traceparentIn(meta));
    if (caller === undefined) return undefined;
    const operation = this.#begin(
      {
        name: nameOf(method, target),
        kind: 'client',
        attributes: { ...methodAttributes(method, target), ...addressOf(url), 'meanwhile.server': server },
        // The request that began a call ended long before the call is resumed.
        ...(resumed ? { parent: undefined, link: caller } : { parent: caller, link: undefined }),
      },
      () => true,
    );
    if (callId !== undefined) this.#open.set(callId, operation.span);
    return {
      context: operation.context,
      end: (errorType) => {
        if (callId !== undefined) this.#open.delete(callId);
        operation.end(errorType);
      },
    };
  }

  /** A question is part of the call that asked it. */
  questionEnded(question: ObservedQuestion): void {
    const { kind, server, createdAt, endedAt, outcome, via, callId, taskTrace } = question;
    const parent = callId === undefined ? undefined : this.#open.get(callId);
    const link = parent === undefined ? contextIn(taskTrace) : undefined;
    const span = parent ?? link;
    if (!span?.sampled) return;
    this.#parts.export({
      traceId: parent?.traceId ?? newTraceId(),
      spanId: newSpanId(),
      parentId: parent?.spanId,
      name: ASKING[kind],
      kind: 'server',
      start: createdAt,
      end: endedAt,
      attributes: {
        'mcp.method.name': ASKING[kind],
        'meanwhile.server': server,
        'meanwhile.question.outcome': outcome,
        'meanwhile.question.via': via,
      },
      link,
      failed: false,
    });
  }

  #begin(
    { name, kind, attributes, parent, link }: Beginning,
    isFailure: (errorType: string) => boolean,
  ): Operation & { span: SpanContext } {
    const traceId = parent?.traceId ?? newTraceId();
    const sampled = this.#parts.sampler(traceId, (parent ?? link)?.sampled);
    const span = { traceId, spanId: newSpanId(), sampled };
    const start = now();
    const end = (errorType?: string): void => {
      if (!sampled) return;
      const failed = errorType !== undefined && isFailure(errorType);
      if (failed) attributes['error.type'] = errorType;
      if (errorType !== undefined && isCode(errorType)) attributes['rpc.response.status_code'] = errorType;
      const { spanId } = span;
      const parentId = parent?.spanId;
      this.#parts.export({ traceId, spanId, parentId, name, kind, start, end: now(), attributes, link, failed });
    };
    return { span, context: { traceparent: formatContext(span) }, end };
  }
}

const now = (): number => performance.timeOrigin + performance.now();

const contextIn = (traceparent: string | undefined): SpanContext | undefined =>
  traceparent === undefined ? undefined : readContext(traceparent);

const isCode = (errorType: string): boolean => /^-?\d+$/.test(errorType);

/** Errors that are the fault of the server, and not of its client. */
function isServerError(errorType: string): boolean {
  if (!isCode(errorType)) return true;
  const code = Number(errorType);
  return code === -32603 || (code <= -32000 && code >= -32099);
}

/** The name of a tool or prompt. Addresses of resources are too many for the name of a span. */
function targetOf(method: string, { name }: Record<string, unknown>): string | undefined {
  return (method === 'tools/call' || method === 'prompts/get') && isText(name) ? name : undefined;
}

const nameOf = (method: string, target: string | undefined): string =>
  target === undefined ? method : `${method} ${target}`;

function methodAttributes(method: string, target: string | undefined): Span['attributes'] {
  const isCall = method === 'tools/call';
  return {
    'mcp.method.name': method,
    'gen_ai.tool.name': isCall ? target : undefined,
    'gen_ai.prompt.name': isCall ? undefined : target,
    'gen_ai.operation.name': isCall ? 'execute_tool' : undefined,
  };
}

function addressOf(url: string | undefined): Span['attributes'] {
  if (url === undefined) return { 'network.transport': 'pipe' };
  const { hostname, port, protocol } = new URL(url);
  const standard = protocol === 'https:' ? 443 : 80;
  return {
    'network.transport': 'tcp',
    'server.address': hostname,
    'server.port': port === '' ? standard : Number(port),
  };
}
