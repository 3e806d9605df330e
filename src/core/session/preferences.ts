import { secretId } from '../../lib/ids.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import type { ServerPreferences } from '../ports/connection.ts';
import type { StoredPreferences, SubscriptionRecord } from '../ports/records.ts';

/** Where the preferences of a client are stored. */
export interface PreferenceStore {
  /** A preference other than a subscription has changed, or the set of servers with preferences. */
  changed: () => void;
  subscribed: (subscription: Omit<SubscriptionRecord, 'sessionId'>) => void;
  unsubscribed: (id: string) => void;
}

interface OfServer extends StoredPreferences {
  /** Subscription ids by resource URI. */
  uris: Map<string, string>;
}

/**
 * The subscriptions and log levels that a client has set on its servers; they are restored with the session. Each
 * subscription is a separate record, so that adding one does not rewrite all the others.
 */
export class Preferences {
  readonly #servers = new LazyMap<string, OfServer>();
  readonly #store: PreferenceStore;

  constructor(kept: Record<string, StoredPreferences> | undefined, store: PreferenceStore) {
    this.#store = store;
    for (const [server, { logLevel }] of Object.entries(kept ?? {})) {
      this.#servers.set(server, { uris: new Map(), ...(logLevel !== undefined && { logLevel }) });
    }
  }

  /** Restores subscriptions after a restart. */
  restore(subscriptions: readonly SubscriptionRecord[]): void {
    for (const { id, server, uri } of subscriptions) this.#entry(server).uris.set(uri, id);
  }

  /** The servers with preferences. */
  get servers(): string[] {
    return [...this.#servers.keys()];
  }

  get record(): Record<string, StoredPreferences> {
    const kept = ({ logLevel }: OfServer): StoredPreferences => (logLevel === undefined ? {} : { logLevel });
    return Object.fromEntries([...this.#servers].map(([server, preferences]) => [server, kept(preferences)]));
  }

  of(server: string): ServerPreferences {
    const { uris, ...others } = this.#servers.get(server) ?? { uris: new Map<string, string>() };
    return { ...others, uris: [...uris.keys()] };
  }

  logLevel(server: string): string | undefined {
    return this.#servers.get(server)?.logLevel;
  }

  /** Whether the client has any subscription. */
  get isSubscribed(): boolean {
    return [...this.#servers.values()].some(({ uris }) => uris.size > 0);
  }

  isSubscribedTo(server: string, uri: string): boolean {
    return this.#servers.get(server)?.uris.has(uri) === true;
  }

  /** The number of subscriptions on a server, without this one. */
  othersThan(server: string, uri: string): number {
    const uris = this.#servers.get(server)?.uris;
    return uris === undefined || uris.has(uri) ? 0 : uris.size;
  }

  subscribe(server: string, uri: string): void {
    const isNew = !this.#servers.has(server);
    const { uris } = this.#entry(server);
    if (uris.has(uri)) return;
    const id = secretId();
    uris.set(uri, id);
    this.#store.subscribed({ id, server, uri });
    if (isNew) this.#store.changed();
  }

  unsubscribe(server: string, uri: string): void {
    const preferences = this.#servers.get(server);
    const id = preferences?.uris.get(uri);
    if (preferences === undefined || id === undefined) return;
    preferences.uris.delete(uri);
    this.#store.unsubscribed(id);
    if (preferences.uris.size > 0 || preferences.logLevel !== undefined) return;
    this.#servers.delete(server);
    this.#store.changed();
  }

  setLogLevel(server: string, logLevel: string): void {
    this.#entry(server).logLevel = logLevel;
    this.#store.changed();
  }

  forget(server: string): void {
    const preferences = this.#servers.get(server);
    if (preferences === undefined) return;
    this.#servers.delete(server);
    for (const id of preferences.uris.values()) this.#store.unsubscribed(id);
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
