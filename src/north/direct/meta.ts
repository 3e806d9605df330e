import { metaOf, withoutKeys } from '../../lib/meta.ts';
import { ENVELOPE_KEYS } from '../../lib/protocol.ts';

/** What belongs to the wire between the client and us, and is put on anew for the one behind us. */
const OWN_KEYS = new Set([...ENVELOPE_KEYS, 'progressToken', 'meanwhile/again']);

/** The client's metadata as it goes on to the server. */
export function passedOnMeta(params: Record<string, unknown>): Record<string, unknown> {
  return withoutKeys(metaOf(params), OWN_KEYS);
}

/** Whether the client wants a call run again that it did not wait for. */
export function wantsAgain(params: Record<string, unknown>): boolean {
  return metaOf(params)['meanwhile/again'] === true;
}
