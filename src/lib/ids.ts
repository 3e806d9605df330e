import { randomFillSync } from 'node:crypto';
import { decodeTime, monotonicFactory, ulid } from 'ulid';

/** A supply of random bytes: requested one by one, they would cost more than anything else in a fast call. */
const stock = Buffer.allocUnsafe(4096);
let used = stock.length;

/** Cryptographic; 256 values divide evenly into the 32 characters of an id. */
function random(): number {
  if (used === stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  const byte = stock.readUInt8(used);
  used += 1;
  return byte / 256;
}

/** An id that gives access: sortable by time, but not to be guessed from an earlier one. */
export const secretId = (): string => ulid(undefined, random);

/** An id for an order: strictly increasing within the process, also within one millisecond. */
export const orderedId = (): string => ordered(Math.max(Date.now(), notBefore));

/** Ids of an earlier run stay below those of this one, even if the clock was set back in between. */
export function continueAfter(id: string): void {
  continueFrom(decodeTime(id) + 1);
}

/** Ids that another program made by then, by its own clock, stay below those of this one. */
export function continueFrom(time: number): void {
  notBefore = Math.max(notBefore, Math.ceil(time));
}

const ordered = monotonicFactory(random);
let notBefore = 0;
