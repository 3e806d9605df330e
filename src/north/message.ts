/** JSON-RPC messages of clients and their validation. */

import { isText } from '../lib/exact-json.ts';
import { metaOf, RELATED_TASK } from '../lib/meta.ts';
import { isObject } from '../lib/values.ts';

export type Params = Record<string, unknown>;
export type RequestId = string | number;

export interface RequestMessage {
  jsonrpc: '2.0';
  id: RequestId;
  method: string;
  params?: Params;
}

export interface NotificationMessage {
  jsonrpc: '2.0';
  method: string;
  params?: Params;
}

export interface ResultMessage {
  jsonrpc: '2.0';
  id: RequestId;
  result: Params;
}

export interface ErrorMessage {
  jsonrpc: '2.0';
  /** Absent if the request could not be read. */
  id?: RequestId;
  error: { code: number; message: string; data?: unknown };
}

export type Message = RequestMessage | NotificationMessage | ResultMessage | ErrorMessage;

/** A reply with a serialized result. */
export interface WrittenReply {
  jsonrpc: '2.0';
  id: RequestId;
  resultJson: string;
}

export type OutgoingMessage = Message | WrittenReply;

export function isRequest(message: Message): message is RequestMessage {
  return 'method' in message && 'id' in message;
}

/** Whether a body is a single response. */
export function isResponse(body: unknown): body is ResultMessage | ErrorMessage {
  return isObject(body) && !('method' in body);
}

/** Whether this is a valid JSON-RPC message. */
export function isMessage(body: unknown): body is Message {
  if (!isObject(body) || body['jsonrpc'] !== '2.0') return false;
  if ('method' in body) return isRequestOrNotification(body);
  return 'result' in body ? isResult(body) : isError(body);
}

function isRequestOrNotification(body: Params): boolean {
  const { method, params } = body;
  if (!isText(method) || ('id' in body && !isRequestId(body['id']))) return false;
  if (params !== undefined && !(isObject(params) && hasValidMeta(params))) return false;
  return hasOnly(body, 'method', 'params', 'id');
}

function hasValidMeta(params: Params): boolean {
  const { _meta } = params;
  if (_meta === undefined) return true;
  if (!isObject(_meta)) return false;
  const { progressToken, [RELATED_TASK]: related } = _meta;
  if (progressToken !== undefined && !isRequestId(progressToken)) return false;
  return related === undefined || (isObject(related) && isText(related['taskId']));
}

function isResult(body: Params): boolean {
  const { result } = body;
  if (!isRequestId(body['id']) || !isObject(result)) return false;
  return (result['_meta'] === undefined || isObject(result['_meta'])) && hasOnly(body, 'id', 'result');
}

function isError(body: Params): boolean {
  const { id, error } = body;
  if (!isObject(error) || !Number.isSafeInteger(error['code']) || !isText(error['message'])) return false;
  return (id === undefined || isRequestId(id)) && hasOnly(body, 'id', 'error');
}

function hasOnly(body: Params, ...keys: string[]): boolean {
  for (const key in body) if (key !== 'jsonrpc' && !keys.includes(key)) return false;
  return true;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The id for an error about a message that may be malformed: that of a request, if it can be read. */
export function idOf(body: unknown): RequestId | undefined {
  if (!isObject(body) || 'result' in body || 'error' in body) return undefined;
  const { id } = body;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** The progress token of a request. */
export function progressTokenOf(params: Params): RequestId | undefined {
  const { progressToken } = metaOf(params);
  return isRequestId(progressToken) ? progressToken : undefined;
}
