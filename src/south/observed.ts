import type { Observed, ObservedServerRequest, Operation } from '../core/observer.ts';
import type { CallOutcome, OutgoingCall } from '../core/ports/connection.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import { hasRpcCode } from '../lib/rpc-error.ts';
import { metaOf } from '../lib/meta.ts';
import { withTraceContext } from '../lib/trace-context.ts';

type Params = Record<string, unknown>;

/** Reports requests to a server to the observer, once there is one. */
export class ObservedServer {
  readonly #server: string;
  readonly #url: string | undefined;
  readonly #observed: Observed;

  constructor(server: string, config: ServerConfig, observed: Observed) {
    this.#server = server;
    this.#url = 'url' in config ? config.url : undefined;
    this.#observed = observed;
  }

  call(call: OutgoingCall, resumed: boolean, run: (call: OutgoingCall) => Promise<CallOutcome>): Promise<CallOutcome> {
    const { id: callId, tool: target, meta } = call;
    const operation = this.#begin({ method: 'tools/call', target, meta, callId, resumed });
    return operation === undefined ? run(call) : observedCall(call, operation, run);
  }

  request(method: string, params: Params, send: (params: Params) => Promise<Params>, callId?: string): Promise<Params> {
    const name = method === 'prompts/get' || method === 'tools/call' ? params['name'] : undefined;
    const target = typeof name === 'string' ? name : undefined;
    const operation = this.#begin({ method, target, meta: metaOf(params), callId, resumed: false });
    return operation === undefined ? send(params) : observedRequest(params, operation, send);
  }

  #begin(request: Omit<ObservedServerRequest, 'server' | 'url'>): Operation | undefined {
    return this.#observed.observer?.serverRequest({ server: this.#server, url: this.#url, ...request });
  }
}

async function observedCall(
  call: OutgoingCall,
  operation: Operation,
  run: (call: OutgoingCall) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  try {
    const outcome = await run(withContext(call, operation.context));
    operation.end(errorTypeOf(outcome));
    return outcome;
  } catch (error) {
    operation.end('_OTHER');
    throw error;
  }
}

async function observedRequest(
  params: Params,
  operation: Operation,
  send: (params: Params) => Promise<Params>,
): Promise<Params> {
  try {
    const result = await send(withTraceContext(params, operation.context));
    operation.end(result['isError'] === true ? 'tool_error' : undefined);
    return result;
  } catch (error) {
    operation.end(hasRpcCode(error) ? String(error.code) : 'unreachable');
    throw error;
  }
}

function withContext(call: OutgoingCall, context: Operation['context']): OutgoingCall {
  return context === undefined ? call : { ...call, meta: { ...call.meta, ...context } };
}

function errorTypeOf(outcome: CallOutcome): string | undefined {
  switch (outcome.kind) {
    case 'result':
      return outcome.result['isError'] === true ? 'tool_error' : undefined;
    case 'error':
      return String(outcome.error.code);
    case 'cancelled':
    case 'unreachable':
    case 'lost':
      return outcome.kind;
  }
}
