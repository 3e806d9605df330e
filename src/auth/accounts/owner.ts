/** The owner of an account. */

import type { AccountAt } from '../../core/ports/accounts.ts';

/** The owner of accounts that all principals share. */
export const EVERYBODY = '*';

/** Whether the gateway signs in by itself, with client credentials. */
export const isProgram = ({ config: { auth } }: AccountAt): boolean =>
  auth !== undefined && auth !== false && auth.grant === 'client_credentials';

export const accountOwnerOf = (account: AccountAt): string => {
  const { principal, config } = account;
  return isProgram(account) || (config.auth && config.auth.shared === true) ? EVERYBODY : principal;
};
