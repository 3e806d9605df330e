import { GatewayError } from '../core/errors.ts';
import { isDeeperThan, MAX_LEVELS } from '../lib/depth.ts';

/** Refuses the parameters of a request that could not be written to a server or to the store. */
export function assertNotTooDeep(params: unknown): void {
  if (!isDeeperThan(params, MAX_LEVELS)) return;
  const message = `the arguments are nested more than ${MAX_LEVELS} levels deep; flatten them`;
  throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', message);
}
