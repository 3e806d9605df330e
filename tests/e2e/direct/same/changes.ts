/** How the answers of the server alone are changed into those that are expected through the gateway. */
import { META, metaOf, type Era, type Json } from '../../../servers/rich/wire.ts';
import type { Exchange, Trace } from './trace.ts';
import type { Said, Transport } from './wire-client.ts';

export type Pair = `${Era} server, ${Era} client`;

export interface Context {
  readonly pair: Pair;
  /** The client’s. */
  readonly transport: Transport;
  /** The answers of the server alone. */
  readonly alone: Trace;
}

export type Change = (step: string, exchange: Exchange, context: Context) => Exchange;

type Steps = string | RegExp;

function concerns(steps: Steps, step: string): boolean {
  return typeof steps === 'string' ? steps === step : steps.test(step);
}

export function object(value: unknown): Json {
  return (value ?? {}) as Json;
}

function inReply(steps: Steps, key: 'result' | 'error', change: (body: Json) => Json): Change {
  return (step, exchange) => {
    const body = exchange.reply?.[key];
    if (!concerns(steps, step) || body === undefined) return exchange;
    return { ...exchange, reply: { ...exchange.reply, [key]: change(body as Json) } };
  };
}

export function inResult(steps: Steps, change: (result: Json) => Json): Change {
  return inReply(steps, 'result', change);
}

export function inError(steps: Steps, change: (error: Json) => Json): Change {
  return inReply(steps, 'error', change);
}

export function withReply(steps: Steps, reply: Json): Change {
  return (step, exchange) => (concerns(steps, step) ? { ...exchange, reply } : exchange);
}

export function answered(steps: Steps, result: Json): Change {
  return withReply(steps, { result });
}

export function unanswered(steps: Steps): Change {
  return (step, { reply, said }) => (concerns(steps, step) || reply === undefined ? { said } : { reply, said });
}

export function inSaid(steps: Steps, change: (message: Json, said: Said, step: string) => Json | undefined): Change {
  return (step, exchange) => {
    if (!concerns(steps, step)) return exchange;
    const said = exchange.said.flatMap((one): Said[] => {
      const message = change(one.message, one, step);
      return message === undefined ? [] : [{ ...one, message }];
    });
    return { ...exchange, said };
  };
}

export function inTurn(...changes: Change[]): Change {
  return (step, exchange, context) => changes.reduce((changed, change) => change(step, changed, context), exchange);
}

export function withoutAcknowledgement(message: Json): Json | undefined {
  return message['method'] === 'notifications/subscriptions/acknowledged' ? undefined : message;
}

/** The stream of what was asked for, as far as there is such a thing. */
export function acknowledged(step: string, exchange: Exchange): Exchange {
  const changes = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const filters: Record<string, { id: number; notifications: Json }> = {
    subscribe: { id: 4242, notifications: { ...changes, resourceSubscriptions: ['rich://text'] } },
    'subscribe to what is not there': { id: 4243, notifications: { toolsListChanged: true } },
  };
  const filter = filters[step];
  if (filter === undefined) return exchange;
  const { id, notifications } = filter;
  const params = { _meta: { [META.subscriptionId]: id }, notifications };
  const message = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params };
  return { ...exchange, said: [...exchange.said, { scope: 'standing', message }] };
}

/** All that a vendor, or nobody, puts beside what the protocol knows. */
export function withoutVendor(message: Json): Json {
  const { notifications, _meta } = message['params'] as Json;
  return {
    ...message,
    params: { _meta: { [META.subscriptionId]: object(_meta)[META.subscriptionId] }, notifications },
  };
}

export function withoutSubscription(message: Json): Json {
  const { _meta, ...rest } = object(message['params']);
  const { [META.subscriptionId]: _id, ...meta } = object(_meta);
  const params = { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  const { params: _params, ...bare } = message;
  return Object.keys(params).length > 0 ? { ...bare, params } : bare;
}

export function withSubscription(message: Json, _said: Said, step: string): Json {
  const id = step === 'change the last' ? 4243 : 4242;
  const params = object(message['params']);
  return { ...message, params: { ...params, _meta: { ...metaOf(params), [META.subscriptionId]: id } } };
}

/** The round in place of the error that wants links visited. */
export function asRound(info: Json): Change {
  return (_step, exchange) => {
    const { code, data } = object(exchange.reply?.['error']);
    if (code !== -32_042) return exchange;
    const asked = object(data)['elicitations'] as Json[];
    const requests = asked.map((params) => [params['elicitationId'], { method: 'elicitation/create', params }]);
    const inputRequests = Object.fromEntries(requests) as Json;
    const result = { resultType: 'input_required', inputRequests, _meta: { [META.serverInfo]: info } };
    return { ...exchange, reply: { result } };
  };
}

export const wrapRows = inTurn(
  inResult('call rows', ({ structuredContent, ...rest }) => ({
    ...rest,
    structuredContent: { result: structuredContent },
  })),
  inTools((tool) => {
    if (tool['name'] !== 'rows') return tool;
    const { outputSchema } = tool;
    return { ...tool, outputSchema: { type: 'object', properties: { result: outputSchema }, required: ['result'] } };
  }),
);

export function inTools(change: (tool: Json) => Json): Change {
  return inResult(/^tools\/list \d/, ({ tools, ...rest }) => ({ ...rest, tools: (tools as Json[]).map(change) }));
}

export function inCaller(change: (caller: Json, context: Context) => Json): Change {
  return (step, exchange, context) =>
    inResult('vendor/caller', ({ caller, ...rest }) => ({ ...rest, caller: change(caller as Json, context) }))(
      step,
      exchange,
      context,
    );
}

/** What the server was told. */
export function inHeard(change: (params: unknown, context: Context) => Json): Change {
  return (step, exchange, context) =>
    inResult('vendor/heard', ({ heard, ...rest }) => ({
      ...rest,
      heard: (heard as Json[]).map(({ params, ...told }) => ({ ...told, params: change(params, context) })),
    }))(step, exchange, context);
}

export function withMeta(params: unknown, more: Json): Json {
  const { _meta, ...rest } = object(params);
  return { ...rest, _meta: { ...object(_meta), ...more } };
}

/** What a tool saw of its request. */
export function inMirror(steps: Steps, change: (meta: Json) => Json): Change {
  return inResult(steps, ({ structuredContent, ...rest }) => {
    const { params, ...others } = structuredContent as { params: Json };
    return { ...rest, structuredContent: { ...others, params: { ...params, _meta: change(metaOf(params)) } } };
  });
}

/** Says what it says at another step. */
export function asAt(step: string, other: string): Change {
  return (at, exchange, { alone }) => (at === step ? { ...exchange, said: alone[other]?.said ?? [] } : exchange);
}
