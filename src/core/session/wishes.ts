import type { Wish } from '../ports.ts';

/** What a client asked its servers for until it says otherwise; it is asked for again when the session goes on later. */
export class Wishes {
  readonly #wishes: Map<string, Wish>;
  readonly #changed: () => void;

  constructor(kept: Record<string, Wish> | undefined, changed: () => void) {
    this.#wishes = new Map(Object.entries(kept ?? {}));
    this.#changed = changed;
  }

  /** The servers of which something is wished. */
  get servers(): string[] {
    return [...this.#wishes.keys()];
  }

  get record(): Record<string, Wish> {
    return Object.fromEntries(this.#wishes);
  }

  of(server: string): Wish {
    return this.#wishes.get(server) ?? { uris: [] };
  }

  hear(server: string, uri: string): void {
    const { uris, ...others } = this.of(server);
    if (!uris.includes(uri)) this.#set(server, { ...others, uris: [...uris, uri] });
  }

  hearNoMore(server: string, uri: string): void {
    const { uris, ...others } = this.of(server);
    if (uris.includes(uri)) this.#set(server, { ...others, uris: uris.filter((other) => other !== uri) });
  }

  log(server: string, logLevel: string): void {
    this.#set(server, { ...this.of(server), logLevel });
  }

  forget(server: string): void {
    if (this.#wishes.delete(server)) this.#changed();
  }

  #set(server: string, wish: Wish): void {
    if (wish.uris.length === 0 && wish.logLevel === undefined) this.#wishes.delete(server);
    else this.#wishes.set(server, wish);
    this.#changed();
  }
}
