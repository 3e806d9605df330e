import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Interaction } from '../../core/interaction/interaction.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { inputRequests } from '../asking/asking.ts';

/** The result with questions by key, instead of the final result of `waiting`. */
export function inputRequired(
  key: string,
  questions: ReadonlyMap<string, Interaction>,
  waiting: WaitingWork,
): Record<string, unknown> {
  return {
    resultType: 'input_required',
    inputRequests: inputRequests(questions),
    requestState: signState(key, waiting),
  };
}

/** What waits for the client: a call that has become a task, or another request that is open at the server. */
export type WaitingWork = { task: string } | { request: string };

/**
 * The state that a modern client carries between rounds: what waits for it, signed with the key of its session, so
 * that another client cannot use it and modifications are detected.
 */
function signState(key: string, waiting: WaitingWork | BoundState): string {
  // Unique for each round.
  const once = randomBytes(6).toString('base64url');
  const payload = Buffer.from(JSON.stringify({ ...waiting, once })).toString('base64url');
  return `${payload}.${signature(key, payload).toString('base64url')}`;
}

/** The state of a server and its name: a request that any of several servers could answer continues there. */
export interface BoundState {
  server: string;
  state: unknown;
}

export function bindState(key: string, bound: BoundState): string {
  return signState(key, bound);
}

/** `undefined` if the state was not bound to a server. */
export function boundStateIn(key: string, given: unknown): BoundState | undefined {
  const { server, state } = verified(key, given) ?? {};
  return typeof server === 'string' ? { server, state } : undefined;
}

export function readState(key: string, state: unknown): WaitingWork {
  const { task, request } = verified(key, state) ?? {};
  if (typeof task === 'string') return { task };
  if (typeof request === 'string') return { request };
  throw new RpcError(INVALID_PARAMS, 'requestState is invalid; send the request again without requestState');
}

/** The signed content; `undefined` if the signature is missing or invalid. */
function verified(key: string, state: unknown): Record<string, unknown> | undefined {
  // Most requests have none.
  if (typeof state !== 'string') return undefined;
  const [payload = '', signed = '', ...more] = state.split('.');
  const given = Buffer.from(signed, 'base64url');
  const expected = signature(key, payload);
  const genuine =
    more.length === 0 &&
    given.length === expected.length &&
    timingSafeEqual(given, expected) &&
    // Another encoding of the same bytes was not signed by us.
    given.toString('base64url') === signed;
  if (!genuine) return undefined;
  const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return isObject(value) ? value : undefined;
}

function signature(key: string, payload: string): Buffer {
  return createHmac('sha256', key).update(payload).digest();
}
