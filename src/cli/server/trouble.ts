import type { ServerConfig } from '../../core/ports.ts';
import { redactUrl } from '../../lib/redact.ts';
import { fixFor } from '../../lib/server-fix.ts';

/** Why a server cannot be used, and what helps against it if that is known. */
export interface Trouble {
  reason: string;
  fix?: string;
}

export function troubleWith(reason: string, config: ServerConfig): Trouble {
  const plain = plainReason(reason);
  const fix = fixFor(plain, config, 'command line');
  return { reason: plain, ...(fix !== undefined && { fix }) };
}

/** The address of a server that has one, after its name; what says the address already is left alone. */
export function at(name: string, config: ServerConfig): string {
  if (!('url' in config)) return name;
  const url = redactUrl(config.url);
  return name === url ? name : `${name} (${url})`;
}

/** The reason without what only says that there is one. */
function plainReason(reason: string): string {
  return reason.replace(/^cannot reach \S+: /, '');
}
