import type { ServerConfig } from '../../core/ports/server-config.ts';
import { messageOf } from '../../lib/log.ts';
import { redactUrl } from '../../lib/redact.ts';
import { failureKindOf } from '../../lib/server-failure.ts';
import { fixFor } from '../../lib/server-fix.ts';

/** Why a server cannot be used, and a fix if one is known. */
export interface Trouble {
  reason: string;
  fix?: string;
}

export function troubleWith(error: unknown, config: ServerConfig): Trouble {
  const fix = fixFor(failureKindOf(error), config, 'command line');
  return { reason: messageOf(error), ...(fix !== undefined && { fix }) };
}

/** The name of a server with its URL, unless the name is the URL. */
export function at(name: string, config: ServerConfig): string {
  if (!('url' in config)) return name;
  const url = redactUrl(config.url);
  return name === url ? name : `${name} (${url})`;
}
