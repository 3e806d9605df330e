/** The access of one session. Its requests may carry tokens with different scopes and claims for the same principal. */

import type { Identity, TokenFacts } from '../ports/identity.ts';
import { sameFacts } from './whom.ts';
import type { Grant } from './grant.ts';

export interface SessionAccessParts {
  grantOf: (identity: Identity) => Grant;
  principal: string;
  /** The facts of the most recently used token. */
  facts: TokenFacts | undefined;
  /** Whether all principals share the server. Servers that a principal added are its own. */
  isShared: (server: string) => boolean;
  /** Called when a request carries a token with other facts than the last one. */
  onChange: () => void;
}

/**
 * A request is decided by its own token: while requests with different grants are open in a session, it may use only what all of
 * them allow. Without an open request, such as after a restart, the last token decides.
 */
export class SessionAccess {
  readonly #parts: SessionAccessParts;
  #facts: TokenFacts | undefined;
  #latest: Grant;
  readonly #open = new Map<Grant, number>();
  #version = 0;

  constructor(parts: SessionAccessParts) {
    this.#parts = parts;
    this.#facts = parts.facts;
    this.#latest = parts.grantOf(parts);
  }

  /** The facts of the last token, to be stored with the session. */
  get facts(): TokenFacts | undefined {
    return this.#facts;
  }

  /** Changes whenever the set of allowed servers or tools may have changed. */
  get version(): number {
    return this.#version;
  }

  /** Starts a request with these token facts; it is open until the returned function is called. */
  begin(facts: TokenFacts | undefined): () => void {
    this.use(facts);
    return this.hold();
  }

  /** The same for a request in another session of the principal that affects this one. */
  join(facts: TokenFacts | undefined): () => void {
    const { grantOf, principal } = this.#parts;
    return this.#hold(grantOf({ principal, facts }));
  }

  /** Starts a request with these token facts. */
  use(facts: TokenFacts | undefined): void {
    const { grantOf, principal, onChange } = this.#parts;
    if (facts === this.#facts) return;
    const isSame = sameFacts(facts, this.#facts);
    this.#facts = facts;
    if (isSame) return;
    this.#latest = grantOf({ principal, facts });
    this.#version += 1;
    onChange();
  }

  /** Keeps the request that has just started open until the returned function is called. */
  hold(): () => void {
    return this.#hold(this.#latest);
  }

  #hold(grant: Grant): () => void {
    const count = this.#open.get(grant) ?? 0;
    if (count === 0 && (this.#open.size > 0 || grant !== this.#latest)) this.#version += 1;
    this.#open.set(grant, count + 1);
    return () => {
      const left = (this.#open.get(grant) ?? 0) - 1;
      if (left > 0) this.#open.set(grant, left);
      else {
        this.#open.delete(grant);
        if (this.#open.size > 0 || grant !== this.#latest) this.#version += 1;
      }
    };
  }

  sees(server: string): boolean {
    return !this.#parts.isShared(server) || this.seesShared(server);
  }

  /** The same for a server that all principals share, or used to share. */
  seesShared(server: string): boolean {
    return this.#every((grant) => grant.sees(server));
  }

  mayCall(server: string, tool: string): boolean {
    return !this.#parts.isShared(server) || this.#every((grant) => grant.mayCall(server, tool));
  }

  #every(allows: (grant: Grant) => boolean): boolean {
    if (this.#open.size === 0) return allows(this.#latest);
    for (const grant of this.#open.keys()) if (!allows(grant)) return false;
    return true;
  }
}
