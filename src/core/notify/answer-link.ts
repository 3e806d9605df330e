/**
 * The token of a link that answers one question. It is sealed with a key from the store, so it need not be stored: it names the
 * question, and becomes invalid when the question ends.
 */

import { seal, unseal } from '../../lib/seal.ts';

/** What a link allows. */
export interface AnswerGrant {
  questionId: string;
  sessionId: string;
  /** The owner of the session; the answer counts as theirs. */
  principal: string;
  /** The target that the link was sent to. */
  target: string;
  expiresAt: number;
}

/** The name of the key in the store. */
export const ANSWER_KEY = 'answer links';

export const ANSWER_PATH = '/answer/';

/** Sealed rather than signed: readers of the message must not learn the session id. */
export function sealGrant(key: Buffer, grant: AnswerGrant): string {
  const { questionId, sessionId, principal, target, expiresAt } = grant;
  return seal(key, [questionId, sessionId, principal, target, expiresAt]);
}

/** `undefined` if the token was not sealed with this key. */
export function openGrant(key: Buffer, token: string): AnswerGrant | undefined {
  const fields = unseal(key, token) as [string, string, string, string, number] | undefined;
  if (fields === undefined) return undefined;
  const [questionId, sessionId, principal, target, expiresAt] = fields;
  return { questionId, sessionId, principal, target, expiresAt };
}
