/** Encrypts values with a key of the store, so that clients can carry but neither read nor change them. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `purpose`: a value that was sealed for one purpose cannot be opened for another. */
export function seal(key: Buffer, value: unknown, purpose = ''): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(purpose));
  const text = JSON.stringify(value);
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** `undefined` if the value was not sealed with this key for this purpose. */
export function unseal(key: Buffer, sealed: string, purpose = ''): unknown {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), cipher.final()]);
    return JSON.parse(text.toString('utf8')) as unknown;
  } catch {
    // Forged, or from another store.
    return undefined;
  }
}
