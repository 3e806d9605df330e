import { GatewayError } from '../../core/errors.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { messageOf } from '../../lib/log.ts';
import { failureKindOf } from '../../lib/server-failure.ts';
import { fixFor } from '../../lib/server-fix.ts';

/** Adds advice to an error that says why a server cannot be used. */
export function withFix(error: unknown, config: ServerConfig | undefined): unknown {
  if (config === undefined || !(error instanceof GatewayError) || error.failure === undefined) return error;
  return new GatewayError(error.code, reasonWithFix(error, config), error.details);
}

export function reasonWithFix(error: unknown, config: ServerConfig): string {
  const fix = fixFor(failureKindOf(error), config, 'configuration');
  return fix === undefined ? messageOf(error) : `${messageOf(error)}; ${fix}`;
}
