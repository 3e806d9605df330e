/**
 * The token of a link that answers one question. It is sealed with a key of the store, so the store need not keep it: it names the
 * question, and is used up when the question has ended.
 */

import { seal, unseal } from '../../lib/seal.ts';

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

/** Sealed rather than signed: the id of a session is not for those who read the message. */
export function sealGrant(key: Buffer, grant: AnswerGrant): string {
  const { questionId, sessionId, principal, target, expiresAt } = grant;
  return seal(key, [questionId, sessionId, principal, target, expiresAt]);
}

/** `undefined` if the token was not made with this key. */
export function openGrant(key: Buffer, token: string): AnswerGrant | undefined {
  const fields = unseal(key, token) as [string, string, string, string, number] | undefined;
  if (fields === undefined) return undefined;
  const [questionId, sessionId, principal, target, expiresAt] = fields;
  return { questionId, sessionId, principal, target, expiresAt };
}
