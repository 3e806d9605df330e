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
export async function sendAuthorized(
  { tokens, linkTo }: ConnectionAccount,
  send: (token: string | undefined) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  for (let retries = 0; ; retries += 1) {
    const current = tokens.current();
    const token = current instanceof Promise ? await current : current;
    const answer = await send(token);
    const challenge = challengeIn(answer);
    if (challenge === undefined || retries === MAX_RETRIES) return answer;
    const after = await afterRefusal(tokens, token, challenge, answer);
    if (after.then === 'fail') return { ...answer, denied: after };
    answer.body.discard();
    if (after.then === 'sign_in') {
      throw new SignInRequired({ ...after.signIn, url: await linkTo(after.signIn) });
    }
  }
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
