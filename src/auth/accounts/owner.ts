/** Whose an account is. */

import type { AccountAt } from '../../core/ports.ts';

/** The owner of accounts that all principals share. */
export const EVERYBODY = '*';

/** Whether the gateway signs in by itself. */
export const isProgram = ({ config: { auth } }: AccountAt): boolean =>
  auth !== undefined && auth !== false && auth.grant === 'client_credentials';

export const ownerOf = (account: AccountAt): string => {
  const { principal, config } = account;
  return isProgram(account) || (config.auth && config.auth.shared === true) ? EVERYBODY : principal;
};
