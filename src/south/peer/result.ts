import { isObject } from '../../lib/values.ts';

type Result = Record<string, unknown>;

/** A complete result without its type, or an incomplete one unchanged. Throws if the result is unusable. */
export function readResult(
  result: Result,
  method: string,
  { isModern, mayAsk }: { isModern: boolean; mayAsk: boolean },
): Result {
  const { resultType: type } = result;
  // Without a type, a result is complete.
  if (type === undefined) return result;
  if (!isModern || type === 'complete') {
    const { resultType: _type, ...rest } = result;
    return rest;
  }
  if (type === 'task') return result;
  if (type !== 'input_required' || !mayAsk) throw unusable(method, `its type is ${JSON.stringify(type)}`);
  if (!asks(result)) throw unusable(method, 'it has neither inputRequests nor a requestState');
  return result;
}

function asks({ inputRequests, requestState }: Result): boolean {
  const hasRequests = isObject(inputRequests) && Object.keys(inputRequests).length > 0;
  return hasRequests || typeof requestState === 'string';
}

function unusable(method: string, why: string): Error {
  return new Error(`the result of ${method} cannot be used: ${why}`);
}
