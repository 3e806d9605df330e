/** Sends requests with the token of an account, and handles refusals. */

import type { AccountTokens, AfterRefusal, AuthChallenge } from '../../core/ports/accounts.ts';
import type { ConnectionAccount } from '../../core/sign-in/connection-account.ts';
import { SignInRequired } from '../../core/sign-in/required.ts';
import { challengeIn } from './challenge.ts';
import type { HttpAnswer } from './http-pool.ts';

/** A refused request is sent again with a refreshed token, and with one that another gateway has fetched. */
const MAX_RETRIES = 2;

/**
 * Sends a request with the token of the account. A server that answers with 401, or with 403 and a challenge, has not processed the
 * request, so it is sent again with another token if there is one. Throws `SignInRequired` if a person has to sign in first.
 */
export function sendAuthorized(account: ConnectionAccount, send: Send, retries = 0): Promise<HttpAnswer> {
  const current = account.tokens.current();
  const sendWith = (token: string | undefined): Promise<HttpAnswer> =>
    send(token).then((answer) => sendAgain(account, send, { token, answer }, retries) ?? answer);
  return current instanceof Promise ? current.then(sendWith) : sendWith(current);
}

export type Send = (token: string | undefined) => Promise<HttpAnswer>;

/** Resends a request that was refused with this token. `undefined` if it was not refused, or has been sent often enough. */
export function sendAgain(
  account: ConnectionAccount,
  send: Send,
  { token, answer }: Omit<Refused, 'challenge'>,
  retries = 0,
): Promise<HttpAnswer> | undefined {
  const challenge = challengeIn(answer);
  if (challenge === undefined || retries === MAX_RETRIES) return undefined;
  return refused(account, send, retries, { token, challenge, answer });
}

interface Refused {
  token: string | undefined;
  challenge: AuthChallenge;
  answer: HttpAnswer;
}

async function refused(
  account: ConnectionAccount,
  send: Send,
  retries: number,
  { token, challenge, answer }: Refused,
): Promise<HttpAnswer> {
  const after = await afterRefusal(account.tokens, token, challenge, answer);
  if (after.then === 'fail') return { ...answer, denied: after };
  answer.body.discard();
  if (after.then === 'sign_in') {
    throw new SignInRequired({ ...after.signIn, url: await account.linkTo(after.signIn) });
  }
  return sendAuthorized(account, send, retries + 1);
}

/** Discards the response on failure, so that its connection does not stay open. */
async function afterRefusal(
  tokens: AccountTokens,
  token: string | undefined,
  challenge: AuthChallenge,
  { body }: HttpAnswer,
): Promise<AfterRefusal> {
  try {
    return await tokens.refused(token, challenge);
  } catch (error) {
    body.discard();
    throw error;
  }
}

export const bearer = (token: string | undefined): { authorization?: string } =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };
