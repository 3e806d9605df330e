import { GatewayError } from '../../core/errors.ts';
import type { ServerConfig } from '../../core/ports.ts';
import { fixFor } from '../../lib/server-fix.ts';

/** How an error begins that tells why a server cannot be reached. */
const NOT_THERE = /^server '[^']*' (?:is not connected|[^:]*\b(?:cannot|could not) be reached[^:]*): /;

/** An error, with what helps where it tells that a server is not there. */
export function withFix(error: unknown, config: ServerConfig | undefined): unknown {
  if (config === undefined || !(error instanceof GatewayError) || !NOT_THERE.test(error.message)) return error;
  const { code, message, details } = error;
  const [beginning = ''] = NOT_THERE.exec(message) ?? [];
  return new GatewayError(code, beginning + reasonWithFix(message.slice(beginning.length), config), details);
}

export function reasonWithFix(reason: string, config: ServerConfig): string {
  const fix = fixFor(reason.replace(/^cannot reach \S+: /, ''), config, 'configuration');
  return fix === undefined ? reason : `${reason}; ${fix}`;
}
