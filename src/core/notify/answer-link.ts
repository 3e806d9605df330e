/**
 * The token of a link that answers one question. It is sealed with a key of the store, so the store need not keep it: it names the
 * question, and is used up when the question has ended.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** What a link allows. */
export interface AnswerGrant {
  questionId: string;
  sessionId: string;
  /** Whose session it is: the answer counts as theirs. */
  principal: string;
  /** The target that the link was sent to. */
  target: string;
  expiresAt: number;
}

/** The name of the key in the store. */
export const ANSWER_KEY = 'answer links';

export const ANSWER_PATH = '/answer/';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Sealed rather than signed: the id of a session is not for those who read the message. */
export function sealGrant(key: Buffer, grant: AnswerGrant): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv);
  const { questionId, sessionId, principal, target, expiresAt } = grant;
  const text = JSON.stringify([questionId, sessionId, principal, target, expiresAt]);
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** `undefined` if the token was not made with this key. */
export function openGrant(key: Buffer, token: string): AnswerGrant | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  let fields: [string, string, string, string, number];
  try {
    const text = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), cipher.final()]);
    fields = JSON.parse(text.toString('utf8')) as typeof fields;
  } catch {
    // Made up, or of another store.
    return undefined;
  }
  const [questionId, sessionId, principal, target, expiresAt] = fields;
  return { questionId, sessionId, principal, target, expiresAt };
}
