import { metaOf, withoutKeys } from '../../lib/meta.ts';
import { ENVELOPE_KEYS } from '../../lib/protocol.ts';

/** Metadata of the hop between client and gateway, which is created anew for the server. */
const OWN_KEYS = new Set([...ENVELOPE_KEYS, 'progressToken', 'meanwhile/again']);

/** The client's metadata to forward to the server. */
export function passedOnMeta(params: Record<string, unknown>): Record<string, unknown> {
  return withoutKeys(metaOf(params), OWN_KEYS);
}

/** Whether the client wants to rerun a call that it abandoned. */
export function wantsAgain(params: Record<string, unknown>): boolean {
  return metaOf(params)['meanwhile/again'] === true;
}
