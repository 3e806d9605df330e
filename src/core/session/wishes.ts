import { secretId } from '../../lib/ids.ts';
import type { KeptWish, SubscriptionRecord, Wish } from '../ports.ts';

/** Where the wishes of a client are stored. */
export interface WishStore {
  /** What is wished besides subscriptions, or of which servers anything is wished, has changed. */
  changed: () => void;
  subscribed: (subscription: Omit<SubscriptionRecord, 'sessionId'>) => void;
  unsubscribed: (id: string) => void;
}

interface OfServer extends KeptWish {
  /** The ids of the subscriptions by the address of the resource. */
  uris: Map<string, string>;
}

/**
 * What a client asked its servers for until it says otherwise; it is asked for again when the session goes on later. Each
 * subscription is stored by itself, so that a thousand of them do not mean a thousand writes of all the others.
 */
export class Wishes {
  readonly #servers = new Map<string, OfServer>();
  readonly #store: WishStore;

  constructor(kept: Record<string, KeptWish> | undefined, store: WishStore) {
    this.#store = store;
    for (const [server, { logLevel }] of Object.entries(kept ?? {})) {
      this.#servers.set(server, { uris: new Map(), ...(logLevel !== undefined && { logLevel }) });
    }
  }

  /** Brings back what an earlier run of the program left. */
  restore(subscriptions: readonly SubscriptionRecord[]): void {
    for (const { id, server, uri } of subscriptions) this.#entry(server).uris.set(uri, id);
  }

  /** The servers of which something is wished. */
  get servers(): string[] {
    return [...this.#servers.keys()];
  }

  get record(): Record<string, KeptWish> {
    const kept = ({ logLevel }: OfServer): KeptWish => (logLevel === undefined ? {} : { logLevel });
    return Object.fromEntries([...this.#servers].map(([server, wish]) => [server, kept(wish)]));
  }

  of(server: string): Wish {
    const { uris, ...others } = this.#servers.get(server) ?? { uris: new Map<string, string>() };
    return { ...others, uris: [...uris.keys()] };
  }

  /** How many resources of a server it hears of, if not of this one already. */
  othersThan(server: string, uri: string): number {
    const uris = this.#servers.get(server)?.uris;
    return uris === undefined || uris.has(uri) ? 0 : uris.size;
  }

  hear(server: string, uri: string): void {
    const isNew = !this.#servers.has(server);
    const { uris } = this.#entry(server);
    if (uris.has(uri)) return;
    const id = secretId();
    uris.set(uri, id);
    this.#store.subscribed({ id, server, uri });
    if (isNew) this.#store.changed();
  }

  hearNoMore(server: string, uri: string): void {
    const wish = this.#servers.get(server);
    const id = wish?.uris.get(uri);
    if (wish === undefined || id === undefined) return;
    wish.uris.delete(uri);
    this.#store.unsubscribed(id);
    if (wish.uris.size > 0 || wish.logLevel !== undefined) return;
    this.#servers.delete(server);
    this.#store.changed();
  }

  log(server: string, logLevel: string): void {
    this.#entry(server).logLevel = logLevel;
    this.#store.changed();
  }

  forget(server: string): void {
    const wish = this.#servers.get(server);
    if (wish === undefined) return;
    this.#servers.delete(server);
    for (const id of wish.uris.values()) this.#store.unsubscribed(id);
    this.#store.changed();
  }

  #entry(server: string): OfServer {
    const known = this.#servers.get(server);
    if (known !== undefined) return known;
    const entry: OfServer = { uris: new Map() };
    this.#servers.set(server, entry);
    return entry;
  }
}
