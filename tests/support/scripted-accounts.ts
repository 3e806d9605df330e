/** Accounts that a test plays itself: it decides who is signed in, and when. Several gateways may share them. */
import type { AccountAt, Accounts, AccountState, AccountTokens, SignIn } from '../../src/core/ports/accounts.ts';

const ISSUER = 'https://login.example/tenant';

export class ScriptedAccounts implements Accounts {
  readonly waiting = new Map<string, SignIn>();
  /** Tokens by principal and server. */
  readonly signedIn = new Map<string, string>();
  expiresAt = Infinity;
  scopes: readonly string[] = [];
  readonly #watchers = new Set<(principal: string, server: string) => void>();
  #last = 0;

  tokens({ principal, server, config }: AccountAt): AccountTokens {
    return {
      current: () => this.signedIn.get(`${principal} ${server}`),
      refused: async () => ({ then: 'sign_in', signIn: await this.signIn({ principal, server, config }) }),
    };
  }

  async signIn({ principal, server }: Pick<AccountAt, 'principal' | 'server'> & Partial<AccountAt>): Promise<SignIn> {
    const isSame = (each: SignIn): boolean => each.principal === principal && each.server === server;
    const waiting = [...this.waiting.values()].find(isSame);
    if (waiting !== undefined) return waiting;
    const { scopes, expiresAt } = this;
    this.#last += 1;
    const signIn = { id: `sign-in-${this.#last}`, principal, server, issuer: ISSUER, scopes, expiresAt };
    this.waiting.set(signIn.id, signIn);
    return signIn;
  }

  async findSignIn(id: string): Promise<SignIn | undefined> {
    return this.waiting.get(id);
  }

  async authorizationUrl(id: string): Promise<URL> {
    return new URL(`${ISSUER}/authorize?state=state-of-${id}`);
  }

  async complete(parameters: URLSearchParams, _path?: string): Promise<SignIn> {
    const id = (parameters.get('state') ?? '').replace('state-of-', '');
    const signIn = this.waiting.get(id);
    if (signIn === undefined) throw new Error('the sign-in is over');
    this.finish(signIn.principal, signIn.server);
    return signIn;
  }

  watch(watcher: (principal: string, server: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  async list(principal?: string): Promise<AccountState[]> {
    return [...this.signedIn.keys()]
      .map((key) => key.split(' ') as [string, string])
      .filter(([who]) => principal === undefined || who === principal)
      .map(([who, server]) => ({ principal: who, server, issuer: ISSUER, scopes: this.scopes, renewable: false }));
  }

  async signOut(principal: string, server: string): Promise<boolean> {
    return this.signedIn.delete(`${principal} ${server}`);
  }

  async forgetServer(server: string, _url: string, principal?: string): Promise<void> {
    for (const { principal: who, server: where } of await this.list(principal))
      if (where === server) await this.signOut(who, where);
  }

  /** Somebody has signed in, at any of the gateways. */
  finish(principal = 'local', server = 'one', { quietly = false, byAnotherLink = false } = {}): void {
    for (const [id, each] of this.waiting) {
      if (!byAnotherLink && each.principal === principal && each.server === server) this.waiting.delete(id);
    }
    this.signedIn.set(`${principal} ${server}`, 'token');
    if (!quietly) this.#tell(principal, server);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  #tell(principal: string, server: string): void {
    for (const watcher of this.#watchers) watcher(principal, server);
  }
}
