import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { metaOf } from '../../lib/meta.ts';

/** What belongs to the wire between the client and us, and is put on anew for the one behind us. */
const OWN_KEYS = new Set<string>([
  'progressToken',
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  'meanwhile/again',
]);

/** The client's metadata as it goes on to the server. */
export function passedOnMeta(params: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(metaOf(params)).filter(([key]) => !OWN_KEYS.has(key)));
}

/** Whether the client wants a call run again that it did not wait for. */
export function wantsAgain(params: Record<string, unknown>): boolean {
  return metaOf(params)['meanwhile/again'] === true;
}
