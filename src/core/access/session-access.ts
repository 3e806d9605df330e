/** What may be used in a session. Its requests may come with tokens that say different things of the same principal. */

import type { Identity, TokenFacts } from '../ports.ts';
import { sameFacts } from './whom.ts';
import type { Grant } from './grant.ts';

export interface SessionAccessParts {
  grantOf: (identity: Identity) => Grant;
  principal: string;
  /** Of the token that was used last. */
  facts: TokenFacts | undefined;
  /** Whether all principals share the server. What a principal has added is its own. */
  isShared: (server: string) => boolean;
  /** The token that is used now says something else than the last one. */
  onChange: () => void;
}

/**
 * A request is decided by its own token: while requests with different grants are at work in a session, only what all of them
 * allow can be used there. Without an open request, such as after a restart, the last token counts.
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

  /** What the last token said, to be stored with the session. */
  get facts(): TokenFacts | undefined {
    return this.#facts;
  }

  /** Another number whenever other servers or tools may be used than before. */
  get version(): number {
    return this.#version;
  }

  /** A request with a token that says this begins; it is at work until the returned function is called. */
  begin(facts: TokenFacts | undefined): () => void {
    this.use(facts);
    return this.hold();
  }

  /** The same for a request of another session of the principal, which concerns this one. */
  join(facts: TokenFacts | undefined): () => void {
    const { grantOf, principal } = this.#parts;
    return this.#hold(grantOf({ principal, facts }));
  }

  /** A request with a token that says this begins. */
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

  /** The request that has just begun is at work until the returned function is called. */
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

  /** The same of a server that all principals share, or have shared. */
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
