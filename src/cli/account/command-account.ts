/** The account with which a command uses a server. Loaded only when the server requires authorization. */

import type { AccountTokens, SignIn } from '../../core/ports/accounts.ts';
import type { HttpServerConfig } from '../../core/ports/server-config.ts';
import type { Config } from '../../config/schema.ts';
import type { NeededSignIn } from '../../core/ports/accounts.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import { hasOwnCredentials, type ConnectionAccount } from '../../core/sign-in/connection-account.ts';
import { redactUrl } from '../../lib/redact.ts';
import type { OwnAccounts } from '../../main.ts';
import { Failure } from '../failure.ts';
import type { FoundServer } from '../server/find-server.ts';

/** The limit for servers that still refuse after each sign-in. */
const MAX_SIGN_INS = 3;

export interface CommandAccountParts {
  server: string;
  config: HttpServerConfig;
  /** Opens the accounts in the store. */
  open: () => Promise<OwnAccounts>;
  /** Leads the person to the page. Absent if no person can be asked. */
  ask?: ((signIn: NeededSignIn & { url: string }) => Promise<void>) | undefined;
}

export class CommandAccount {
  readonly account: ConnectionAccount;
  readonly #parts: CommandAccountParts;
  #own: Promise<OwnAccounts> | undefined;
  #tokens: AccountTokens | undefined;
  #isConnected = false;

  constructor(parts: CommandAccountParts) {
    this.#parts = parts;
    this.account = {
      tokens: {
        current: () => this.#tokens?.current(),
        refused: async (token, challenge) => {
          const { accounts, principal } = await this.#opened();
          const { server, config } = this.#parts;
          this.#tokens ??= accounts.tokens({ principal, server, config });
          const after = await this.#tokens.refused(token, challenge);
          // Connecting has a time limit, which must not apply to people.
          if (after.then !== 'sign_in' || !this.#isConnected || this.#parts.ask === undefined) return after;
          await this.#signIn(after.signIn);
          return { then: 'retry' };
        },
      },
      linkTo: async (signIn) => (this.#parts.ask === undefined ? undefined : (await this.#opened()).linkTo(signIn)),
    };
  }

  /** Connects, and retries after each sign-in that the server requires. */
  async connect<T>(connect: () => Promise<T>): Promise<T> {
    for (let signIns = 0; ; signIns += 1) {
      try {
        const connected = await connect();
        this.#isConnected = true;
        return connected;
      } catch (error) {
        const signIn = signInIn(error);
        if (signIn === undefined || this.#parts.ask === undefined || signIns === MAX_SIGN_INS) throw error;
        await this.#signIn(signIn);
      }
    }
  }

  async close(): Promise<void> {
    await this.#own?.then(
      async ({ close }) => close(),
      () => {},
    );
  }

  async #opened(): Promise<OwnAccounts> {
    this.#own ??= this.#parts.open();
    return this.#own;
  }

  async #signIn(signIn: SignIn): Promise<void> {
    const { accounts, principal, linkTo } = await this.#opened();
    const { server, ask } = this.#parts;
    let stop = (): void => {};
    const done = new Promise<void>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Failure('unanswered', `the sign-in to ${server} was not completed in time`)),
        Math.min(2 ** 31 - 1, Math.max(0, signIn.expiresAt - Date.now())),
      );
      const forget = accounts.watch((who, where) => {
        if (where === server && (who === principal || who === '*')) resolve();
      });
      stop = () => {
        clearTimeout(late);
        forget();
      };
    });
    try {
      await Promise.all([ask?.({ ...signIn, url: await linkTo(signIn) }), done]);
    } finally {
      stop();
    }
  }
}

/** For a server that is reached over HTTP, unless its config says how to authenticate. */
export function accountFor(
  { name, config }: FoundServer,
  loadConfig: () => Promise<Pick<Config, 'settings' | 'servers'>>,
  ask?: CommandAccountParts['ask'],
): CommandAccount | undefined {
  if (!('url' in config) || hasOwnCredentials(config)) return undefined;
  const open = async (): Promise<OwnAccounts> => {
    const { openAccounts } = await import('../../main.ts');
    const { settings, servers } = await loadConfig();
    return openAccounts({ settings, servers }, { inMemoryIfInUse: true });
  };
  // A server that is named by its URL: messages must not show the secrets in it.
  const server = name === config.url ? redactUrl(name) : name;
  return new CommandAccount({ server, config, open, ask });
}
