import { createHmac, timingSafeEqual } from 'node:crypto';
import { RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';

/**
 * What a client without sessions carries from one round of a call to the next: the name of the task that waits for it,
 * signed with the key of the session it belongs to. So it is worth nothing to anybody else, nor when it was changed.
 */
export function signState(key: string, taskId: string): string {
  const payload = Buffer.from(JSON.stringify({ task: taskId })).toString('base64url');
  return `${payload}.${signature(key, payload).toString('base64url')}`;
}

export function readState(key: string, state: string): string {
  const [payload = '', signed = '', ...more] = state.split('.');
  const given = Buffer.from(signed, 'base64url');
  const expected = signature(key, payload);
  const genuine =
    more.length === 0 &&
    given.length === expected.length &&
    timingSafeEqual(given, expected) &&
    // Another spelling of the same bytes was not signed by us.
    given.toString('base64url') === signed;
  if (!genuine) throw new RpcError(-32602, 'requestState is not one that was handed to you: begin the call anew');
  const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  if (!isObject(value) || typeof value['task'] !== 'string') throw new RpcError(-32602, 'requestState names no task');
  return value['task'];
}

function signature(key: string, payload: string): Buffer {
  return createHmac('sha256', key).update(payload).digest();
}
