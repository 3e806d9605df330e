import type { Clock } from '../../lib/clock.ts';
import { GatewayError, known } from '../errors.ts';
import type { AddedBy } from '../ports/connection.ts';
import type { ServerRecord } from '../ports/records.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import type { Store } from '../ports/store.ts';
import { ALL_SERVERS } from '../groups.ts';
import type { CoreSettings } from '../settings.ts';

/** A server as one principal sees it. */
export interface KnownServer {
  name: string;
  config: ServerConfig;
  addedBy: AddedBy;
}

/** The servers that one principal can use. */
export interface VisibleServers {
  get(name: string): KnownServer | undefined;
  /** Throws if the principal has no server of that name. */
  require(name: string): KnownServer;
  list(): KnownServer[];
}

/** Who is affected when a server changes. */
export type Audience = { everyone: true } | { everyone: false; principal: string };

type Rules = Pick<CoreSettings, 'addServers' | 'allowServerChanges' | 'groups' | 'limits'>;

/**
 * All servers of the gateway. Servers of the config file are shared by all principals; a server that a client added
 * belongs to the principal of that client. Names are unique for each principal: while the config file has a server or a
 * group of a name, a client-added server of that name is hidden. Only client-added servers are stored.
 */
export class ServerRegistry {
  /** The servers that each principal sees. */
  readonly #visible = new Map<string, VisibleServers>();
  readonly #shared = new Map<string, KnownServer>();
  readonly #added = new Map<string, Map<string, KnownServer>>();
  readonly #store: Store;
  readonly #rules: Rules;
  readonly #clock: Clock;

  constructor(store: Store, rules: Rules, clock: Clock) {
    this.#store = store;
    this.#rules = rules;
    this.#clock = clock;
  }

  /** Loads the servers of the config file, and those that clients added in earlier runs. */
  async load(configured: ReadonlyMap<string, ServerConfig>): Promise<void> {
    for (const { owner, name, config } of await this.#store.servers()) {
      this.#addedBy(owner).set(name, { name, config, addedBy: 'client' });
    }
    for (const [name, config] of configured) this.#shared.set(name, { name, config, addedBy: 'config file' });
  }

  /** With `sees`, only shared servers for which it returns true. */
  of(principal: string, sees?: (server: string) => boolean): VisibleServers {
    if (sees !== undefined) return this.#visibleTo(principal, sees);
    const known = this.#visible.get(principal);
    if (known) return known;
    const visible = this.#visibleTo(principal, () => true);
    this.#visible.set(principal, visible);
    return visible;
  }

  #visibleTo(principal: string, sees: (server: string) => boolean): VisibleServers {
    const get = (name: string): KnownServer | undefined => {
      const shared = this.#shared.get(name);
      if (shared !== undefined) return sees(name) ? shared : undefined;
      return this.#isHidden(name) ? undefined : this.#added.get(principal)?.get(name);
    };
    const list = (): KnownServer[] => [
      ...[...this.#shared.values()].filter(({ name }) => sees(name)),
      ...this.#visibleOf(this.#added.get(principal)),
    ];
    const require = (name: string): KnownServer => {
      const found = get(name);
      if (found) return found;
      const names = list().map((server) => server.name);
      throw new GatewayError('TOOL_ERR_SERVER_NOT_FOUND', `no server '${name}'; ${known(names)}`);
    };
    return { get, require, list };
  }

  /** The servers that clients of other principals added and that those principals see. */
  addedByOthers(principal: string): (KnownServer & { principal: string })[] {
    return [...this.#added].flatMap(([owner, servers]) =>
      owner === principal ? [] : this.#visibleOf(servers).map((server) => ({ ...server, principal: owner })),
    );
  }

  #visibleOf(added: ReadonlyMap<string, KnownServer> | undefined): KnownServer[] {
    return [...(added?.values() ?? [])].filter(({ name }) => !this.#isHidden(name));
  }

  #isHidden(name: string): boolean {
    return this.#shared.has(name) || this.#endpointNamed(name) !== undefined;
  }

  /** The names of the servers that belong to all principals. */
  get shared(): string[] {
    return [...this.#shared.keys()];
  }

  /** Whether the server belongs to all principals. */
  isShared(name: string): boolean {
    return this.#shared.has(name);
  }

  get size(): number {
    return [...this.#added.values()].reduce((total, servers) => total + servers.size, this.#shared.size);
  }

  /** The sessions of this audience see the server of that name that this principal sees. */
  audienceOf(principal: string, name: string): Audience {
    return this.#shared.has(name) ? { everyone: true } : { everyone: false, principal };
  }

  /** Whether the principal may add servers at all. */
  mayAdd(principal: string): boolean {
    const { addServers } = this.#rules;
    return addServers === 'anyone' || (addServers !== 'nobody' && addServers.includes(principal));
  }

  assertMayAdd(principal: string, name: string): void {
    const { allowServerChanges, limits } = this.#rules;
    if (!this.mayAdd(principal)) {
      const message = 'adding servers is not allowed; the operator can allow it with the setting addServers';
      throw new GatewayError('TOOL_ERR_NOT_ALLOWED', message);
    }
    const endpoint = this.#endpointNamed(name);
    if (endpoint !== undefined) {
      const message = `'${name}' is the name of ${endpoint}; add the server under another name`;
      throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', message);
    }
    if (this.#shared.has(name)) {
      if (!allowServerChanges) throw fromConfigFile(name, 'replaced; add yours under another name');
      return;
    }
    const max = limits.serversPerPrincipal;
    const mine = this.#added.get(principal);
    if (mine === undefined || mine.size < max || mine.has(name)) return;
    throw new GatewayError(
      'TOOL_ERR_LIMIT',
      `${mine.size} servers were added already (limits.serversPerPrincipal = ${max}); remove one with remove_server first`,
    );
  }

  /** The endpoint other than a server that has this name. */
  #endpointNamed(name: string): string | undefined {
    if (name === ALL_SERVERS) return 'the endpoint of all servers';
    return Object.hasOwn(this.#rules.groups, name) ? 'a group in the config file' : undefined;
  }

  assertMayRemove(principal: string, name: string): void {
    this.of(principal).require(name);
    if (this.#shared.has(name) && !this.#rules.allowServerChanges) throw fromConfigFile(name, 'removed');
  }

  /** Stores a server that a client added. It replaces the server of that name that the principal sees. */
  set(principal: string, name: string, config: ServerConfig, addedBy: string): void {
    const record: ServerRecord = {
      id: serverRecordId(principal, name),
      owner: principal,
      name,
      config,
      addedAt: this.#clock.now(),
      addedBy,
    };
    this.#store.putServer(record);
    this.#know(record);
  }

  remove(principal: string, name: string): void {
    this.#store.dropServer(serverRecordId(principal, name));
    this.#forget(principal, name);
  }

  /**
   * The audience of a server that another gateway has stored or removed; empty if the config file has a server of that name, which
   * may be newer than the other gateway's config.
   */
  audienceOfStored({ owner, name }: Pick<ServerRecord, 'owner' | 'name'>): Audience | undefined {
    if (this.#endpointNamed(name) !== undefined) return undefined;
    const shared = this.#shared.get(name);
    if (shared === undefined) return { everyone: false, principal: owner };
    return shared.addedBy === 'client' || this.#rules.allowServerChanges ? { everyone: true } : undefined;
  }

  /** Another gateway has stored a server, or removed one. */
  follow(key: string, record: ServerRecord | undefined): void {
    const { owner, name } = partsOf(key);
    const isHidden = this.audienceOfStored({ owner, name }) === undefined;
    if (record === undefined) {
      if (isHidden) this.#added.get(owner)?.delete(name);
      else this.#forget(owner, name);
    } else if (isHidden) this.#addedBy(owner).set(name, { name, config: record.config, addedBy: 'client' });
    else this.#know(record);
  }

  #know({ owner, name, config }: ServerRecord): void {
    const servers = this.#shared.has(name) ? this.#shared : this.#addedBy(owner);
    servers.set(name, { name, config, addedBy: 'client' });
  }

  #forget(principal: string, name: string): void {
    if (!this.#shared.delete(name)) this.#added.get(principal)?.delete(name);
  }

  #addedBy(principal: string): Map<string, KnownServer> {
    const servers = this.#added.get(principal) ?? new Map<string, KnownServer>();
    this.#added.set(principal, servers);
    return servers;
  }
}

/** The id of a stored server: two principals may use the same name. */
function serverRecordId(owner: string, name: string): string {
  return `${encodeURIComponent(owner)}/${name}`;
}

/** The owner and name in a key. */
export function partsOf(key: string): { owner: string; name: string } {
  const end = key.indexOf('/');
  return { owner: decodeURIComponent(key.slice(0, end)), name: key.slice(end + 1) };
}

function fromConfigFile(name: string, what: string): GatewayError {
  return new GatewayError(
    'TOOL_ERR_NOT_ALLOWED',
    `server '${name}' is in the config file and cannot be ${what}; the operator can allow it with allowServerChanges`,
  );
}
