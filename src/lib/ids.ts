import { randomFillSync } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';

/** A supply of random bytes: requested one by one, they would cost more than anything else in a fast call. */
const stock = Buffer.allocUnsafe(4096);
let used = stock.length;

/** Cryptographic; 256 values divide evenly into the 32 characters of an id. */
function randomByte(): number {
  if (used === stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  const byte = stock.readUInt8(used);
  used += 1;
  return byte;
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LENGTH = 10;
/** The random part of an id, before it is a text. */
const characters = Buffer.allocUnsafe(16);
/** Most ids of a busy gateway share their millisecond with others. */
let lastTime = { moment: 0, text: '' };

/** An id that gives access: sortable by time, but not to be guessed from an earlier one. A ULID, put together at once. */
export function secretId(): string {
  const moment = Date.now();
  if (moment !== lastTime.moment) lastTime = { moment, text: encodeTime(moment, TIME_LENGTH) };
  for (let place = 0; place < characters.length; place += 1) {
    characters[place] = ALPHABET.charCodeAt(randomByte() % ALPHABET.length);
  }
  return lastTime.text + characters.toString('latin1');
}

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

const ordered = monotonicFactory(() => randomByte() / 256);
let notBefore = 0;
