/** The endpoint that modern clients see, and the form of requests and results in their version. */

import { ENVELOPE_KEYS, SERVER_INFO_KEY } from '../../lib/protocol.ts';
import { metaOf, withoutKeys } from '../../lib/meta.ts';
import { hasRpcCode, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { madeOf } from '../kept-results.ts';
import type { ClientRequest } from '../client-request.ts';
import type { NotificationMessage, Params } from '../message.ts';
import { clientIn, MODERN_VERSIONS, type ModernClient } from '../modern-client.ts';

/** A request of a client without sessions. */
export interface ModernCall {
  request: ClientRequest;
  /** Without the parts that follow. */
  params: Params;
  client: ModernClient;
  /** The `requestState` of the last round. */
  state: unknown;
  /** The client's answers to the last round. */
  answers: Params | undefined;
}

export interface ModernEndpoint {
  /** The server, as each result names it. */
  serverInfo: Params;
  /** The result of `server/discover`, except for the versions. */
  introduce(): Params | Promise<Params>;
  /** Resolves with the result of a request; rejects with the error of the reply. */
  handle(call: ModernCall): Promise<Params>;
  onNotification(method: string, params: Params | undefined): void;
}

/** Requests of the legacy protocol, which modern clients must not find here. */
const GONE_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
]);

/** Notifications of the legacy protocol, and those that the gateway handles itself. */
const IGNORED_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
  'notifications/elicitation/complete',
  'notifications/cancelled',
  'notifications/progress',
]);

/** The code for a resource that was not found in the older protocol, and in this one. */
const RESOURCE_NOT_FOUND = { before: -32002, now: INVALID_PARAMS };

/** The result of a request, as sent. */
export function modernResult(endpoint: ModernEndpoint, request: ClientRequest): Promise<Params> {
  const { method } = request;
  if (GONE_METHODS.has(method)) return Promise.reject(new RpcError(METHOD_NOT_FOUND, 'Method not found'));
  if (method === 'server/discover') return introduced(endpoint, method);
  return endpoint.handle(modernCall(request)).then(
    (given) => madeOf(given, completed, () => completed(method, given, endpoint.serverInfo)),
    (error: unknown) => {
      if (!hasRpcCode(error) || error.code !== RESOURCE_NOT_FOUND.before) throw error;
      const { message, data } = error;
      throw RpcError.passedOn({ code: RESOURCE_NOT_FOUND.now, message, data });
    },
  );
}

async function introduced(endpoint: ModernEndpoint, method: string): Promise<Params> {
  const introduction = await endpoint.introduce();
  return completed(method, { ...introduction, supportedVersions: MODERN_VERSIONS }, endpoint.serverInfo);
}

export function modernNotification(endpoint: ModernEndpoint, { method, params }: NotificationMessage): void {
  if (!IGNORED_NOTIFICATIONS.has(method)) endpoint.onNotification(method, params && withoutIntroduction(params));
}

/** Removes the client description, which belongs to the wire. */
function withoutIntroduction(params: Params): Params {
  const { _meta, ...rest } = params;
  if (!isObject(_meta)) return params;
  const meta = withoutKeys(_meta, ENVELOPE_KEYS);
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

function modernCall(request: ClientRequest): ModernCall {
  const { params } = request;
  const client = clientIn(metaOf(params));
  if (!('inputResponses' in params || 'requestState' in params)) {
    return { request, params, client, state: undefined, answers: undefined };
  }
  const { inputResponses, requestState: state, ...own } = params;
  return { request, params: own, client, state, answers: answersIn(inputResponses) };
}

/** Answers are objects; whole requests or responses are invalid. */
function answersIn(responses: unknown): Params | undefined {
  if (responses === undefined) return undefined;
  const given = Object.entries(isObject(responses) ? responses : {});
  return Object.fromEntries(
    given.filter(([, answer]) => isObject(answer) && !('method' in answer) && !('result' in answer)),
  );
}

/** Requests whose result may ask for input, or be a task. */
const MAY_BE_INCOMPLETE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);

/** A result with the fields that this protocol version requires, and without those it does not have. */
export function completed(method: string, given: Params, serverInfo: Params): Params {
  const resultType = given['resultType'] ?? 'complete';
  // V8 takes long to add fields after those of a spread (docs/PERFORMANCE.md): they are there before, and set afterwards.
  const result: Params = { resultType, _meta: undefined, ...given };
  result['resultType'] = resultType;
  result['_meta'] = withServer(given['_meta'], serverInfo);
  if (resultType !== 'complete' && !MAY_BE_INCOMPLETE.has(method)) throw new RpcError(INTERNAL_ERROR, 'Internal error');
  if (method === 'tools/list') result['tools'] = withoutExecution(given['tools']);
  if (isObject(given['capabilities'])) result['capabilities'] = withoutTasks(given['capabilities']);
  if (resultType === 'complete' && CACHEABLE.has(method)) {
    const { ttlMs, cacheScope } = given;
    result['ttlMs'] = isDuration(ttlMs) ? ttlMs : 0;
    result['cacheScope'] = cacheScope === 'public' ? 'public' : 'private';
  }
  return result;
}

/** The metadata of a result names the server. */
function withServer(meta: unknown, serverInfo: Params): unknown {
  if (meta === undefined) return { [SERVER_INFO_KEY]: serverInfo };
  if (!isObject(meta) || meta[SERVER_INFO_KEY] !== undefined) return meta;
  const named: Params = { [SERVER_INFO_KEY]: undefined, ...meta };
  named[SERVER_INFO_KEY] = serverInfo;
  return named;
}

function isDuration(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function withoutExecution(tools: unknown): unknown {
  if (!Array.isArray(tools) || !tools.some((tool) => isObject(tool) && 'execution' in tool)) return tools;
  return tools.map((tool: unknown) => {
    if (!isObject(tool)) return tool;
    const { execution: _execution, ...rest } = tool;
    return rest;
  });
}

function withoutTasks(capabilities: Params): Params {
  const { tasks: _tasks, ...rest } = capabilities;
  return rest;
}
