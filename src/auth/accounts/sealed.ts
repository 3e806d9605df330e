/** Encryption of account records: AES-256-GCM, with several keys so that they can be rotated. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

export const KEY_BYTES = 32;

const FORMAT = '1';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Text that is sealed for one place cannot be opened in another. */
export interface Sealer {
  seal(text: string, place: string): string;
  /** `undefined` if no key decrypts it. */
  open(sealed: string, place: string): string | undefined;
}

/** The first key encrypts, and all keys decrypt. */
export function createSealer(keys: readonly [Buffer, ...Buffer[]]): Sealer {
  const byId = new Map(keys.map((key) => [idOf(key), key]));
  const [newest] = keys;
  return {
    seal: (text, place) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, newest, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${FORMAT}.${idOf(newest)}.${sealed.toString('base64')}`;
    },
    open: (sealed, place) => {
      const [format, id = '', content = ''] = sealed.split('.');
      const key = byId.get(id);
      const bytes = Buffer.from(content, 'base64');
      if (format !== FORMAT || key === undefined || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString(
          'utf8',
        );
      } catch {
        // The text was changed, or sealed for another place.
        return undefined;
      }
    },
  };
}

/** Identifies a key without revealing anything about it. */
const idOf = (key: Buffer): string =>
  createHash('sha256').update('meanwhile key id').update(key).digest('hex').slice(0, 12);
