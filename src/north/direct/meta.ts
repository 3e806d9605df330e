import { metaOf } from '../../lib/meta.ts';
import { CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, VERSION_KEY } from '../../lib/protocol.ts';

/** What belongs to the wire between the client and us, and is put on anew for the one behind us. */
const OWN_KEYS = new Set<string>([
  'progressToken',
  VERSION_KEY,
  CLIENT_INFO_KEY,
  CLIENT_CAPABILITIES_KEY,
  LOG_LEVEL_KEY,
  'meanwhile/again',
]);

/** The client's metadata as it goes on to the server. */
export function passedOnMeta(params: Record<string, unknown>): Record<string, unknown> {
  const meta = metaOf(params);
  const passed: Record<string, unknown> = {};
  for (const key in meta) if (!OWN_KEYS.has(key)) passed[key] = meta[key];
  return passed;
}

/** Whether the client wants a call run again that it did not wait for. */
export function wantsAgain(params: Record<string, unknown>): boolean {
  return metaOf(params)['meanwhile/again'] === true;
}
