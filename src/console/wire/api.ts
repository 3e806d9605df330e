/** Requests to the API of the gateway. */

import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';
import { sentence } from '../sentence.ts';
import { forgetPageKey, keepPageKey, pageKey, pageKeyHeader } from './page-key.ts';
import type { Json, Question } from '../../lib/api-items.ts';

export class RequestError extends Error {
  /** 0 if the gateway could not be reached. */
  readonly status: number;
  readonly code: string;
  /** The mistakes in the fields of an answer. */
  readonly fields: Record<string, string>;
  /** The question that was already answered. */
  readonly question: Question | undefined;

  constructor(status: number, body: unknown) {
    const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
    const message =
      typeof error['message'] === 'string' ? error['message'] : `The gateway responded with status ${status}.`;
    super(sentence(message));
    this.status = status;
    this.code = typeof error['code'] === 'string' ? error['code'] : '';
    this.fields = isObject(error['fields']) ? (error['fields'] as Record<string, string>) : {};
    this.question =
      isObject(body) && isObject(body['question']) ? (body['question'] as unknown as Question) : undefined;
  }
}

const UNREACHABLE = { error: { code: 'unreachable', message: 'The gateway cannot be reached. Is it running?' } };

/** Called when the person is no longer signed in. */
let onSignedOut: () => void = () => {};
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Called when a request did not reach the gateway. */
let onUnreachable: () => void = () => {};
export function whenUnreachable(listener: () => void): void {
  onUnreachable = listener;
}

/** Grows when another person takes over the page. */
let person = 0;

/** Earlier requests belong to the previous person: their callers get no result. */
export function dropRequests(): void {
  person += 1;
}

/** For responses that must not be shown any more. It never settles. */
const never = async <T>(): Promise<T> => new Promise(() => {});

export const API = '/api/v1';
const [SIGN_IN, SIGN_OUT] = ['/console/sign-in', '/console/sign-out'];

export async function get<T>(path: string, filters: Record<string, string | number | undefined> = {}): Promise<T> {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return request<T>(given.length === 0 ? path : `${path}?${query.toString()}`, { method: 'GET' });
}

export async function post<T>(path: string, body: Json): Promise<T> {
  return request<T>(path, { method: 'POST', body: stringifyExact(body) });
}

async function request<T>(path: string, init: RequestInit): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json', ...pageKeyHeader() };
  if (init.method === 'POST') headers['Content-Type'] = 'application/json';
  const [asker, key] = [person, pageKey()];
  const isOutdated = (): boolean => path.startsWith(API) && (asker !== person || key !== pageKey());
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { ...init, headers, credentials: 'same-origin' });
    text = await response.text();
  } catch {
    if (isOutdated()) return never();
    onUnreachable();
    throw new RequestError(0, UNREACHABLE);
  }
  if (isOutdated()) return never();
  const body = parsed(text);
  if (response.ok) {
    if (path === SIGN_IN) keepPageKey(body);
    if (path === SIGN_OUT) forgetPageKey();
    return body as T;
  }
  if (response.status === 401 && path.startsWith(API)) onSignedOut();
  throw new RequestError(response.status, body);
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : parseExact(text);
  } catch {
    return undefined;
  }
}
