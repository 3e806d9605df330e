/** Where accounts on servers are managed: at a running gateway, or in its store if none is running. */

import type { Account, NeededSignIn } from '../../lib/api-items.ts';
import { openAccounts } from '../../main.ts';
import { configFor } from '../config.ts';
import { Failure } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { ApiClient, ApiFailure } from '../gateway/api-client.ts';
import { findGateway } from '../gateway/find-gateway.ts';
import type { Me } from '../../lib/api-items.ts';

export interface AccountPlace {
  /** For people. */
  where: string;
  principal: string;
  operator: boolean;
  begin(server: string): Promise<NeededSignIn>;
  /** Whether the sign-in was completed or has expired. */
  isOver(id: string): Promise<boolean>;
  list(): Promise<Account[]>;
  /** `false` if there was no account. */
  signOut(server: string): Promise<boolean>;
  close(): Promise<void>;
}

export async function openPlace(line: CommandLine): Promise<AccountPlace> {
  try {
    const api = await ApiClient.open(async () => findGateway(line));
    return atGateway(api, await api.get<Me>('me'));
  } catch (error) {
    // An explicitly named gateway is required.
    const isNone = error instanceof Failure && error.code === 'unreachable' && line.flags.url === undefined;
    if (!isNone) throw error;
    return inStore(line);
  }
}

function atGateway(api: ApiClient, { principal, operator }: Me): AccountPlace {
  const at = (server: string): string => `servers/${encodeURIComponent(server)}`;
  return {
    where: `the gateway at ${api.where}`,
    principal,
    operator,
    begin: async (server) => api.post<NeededSignIn>(`${at(server)}/sign-in`, {}),
    isOver: async (id) => {
      try {
        await api.get(`sign-ins/${encodeURIComponent(id)}`);
        return false;
      } catch (error) {
        if (error instanceof ApiFailure && error.status === 404) return true;
        throw error;
      }
    },
    list: async () => (await api.get<{ items: Account[] }>('accounts')).items,
    signOut: async (server) => (await api.post<{ signedOut: boolean }>(`${at(server)}/sign-out`, {})).signedOut,
    close: async () => {},
  };
}

async function inStore(line: CommandLine): Promise<AccountPlace> {
  const config = await configFor(line);
  const { accounts, principal, linkTo, close } = await openAccounts(config).catch((error: unknown) => {
    throw new Failure('refused', error instanceof Error ? error.message : String(error));
  });
  const known = (server: string) => {
    const found = config.servers.get(server);
    if (found !== undefined && 'url' in found) return found;
    const names = [...config.servers].flatMap(([name, each]) => ('url' in each ? [name] : []));
    const list = names.length === 0 ? 'no server in it has a URL' : `the servers with a URL are ${names.join(', ')}`;
    const why = found === undefined ? 'is not in the config file' : 'is a command, which needs no sign-in';
    throw new Failure('config', `'${server}' ${why}; ${list}`);
  };
  return {
    where: `the store ${config.settings.store}`,
    principal,
    operator: true,
    begin: async (server) => {
      const found = known(server);
      const isShared = found.auth !== undefined && found.auth !== false && found.auth.shared === true;
      const { tokens, issuers } = config.settings.auth;
      if (!isShared && (Object.keys(tokens).length > 0 || issuers.length > 0)) {
        throw new Failure(
          'refused',
          `no gateway is running, so the user is unknown: with auth.tokens or auth.issuers in the config, each user has their ` +
            `own account. Start the gateway with meanwhile serve, then: meanwhile login ${server} --token TOKEN`,
        );
      }
      const signIn = await asFailure(accounts.signIn({ principal, server, config: found }));
      return { ...signIn, scopes: [...signIn.scopes], url: await linkTo(signIn) };
    },
    isOver: async (id) => (await accounts.findSignIn(id)) === undefined,
    list: async () => (await accounts.list()).map((account) => ({ ...account, scopes: [...account.scopes] })),
    signOut: async (server) => {
      const isOut = await asFailure(accounts.signOut(principal, server));
      // A user with access to the store may end shared accounts.
      return (await asFailure(accounts.signOut('*', server))) || isOut;
    },
    close,
  };
}

async function asFailure<T>(asked: Promise<T>): Promise<T> {
  return asked.catch((error: unknown) => {
    throw new Failure('refused', error instanceof Error ? error.message : String(error), {}, { cause: error });
  });
}
