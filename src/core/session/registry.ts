import { GatewayError, known } from '../errors.ts';
import type { ServerConfig, ServerRecord, Store } from '../ports.ts';

/** The configured servers, shared by all sessions. Those added at run time are stored; those of the file are not. */
export class ServerRegistry {
  readonly #servers = new Map<string, ServerRecord>();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Brings in the servers of the configuration, and those added at run time that it does not name. */
  async load(configured: ReadonlyMap<string, ServerConfig>): Promise<void> {
    for (const record of await this.#store.all('server')) this.#servers.set(record.id, record);
    for (const [id, config] of configured)
      this.#servers.set(id, { id, config, addedAt: Date.now(), addedBy: 'config' });
  }

  get(name: string): ServerRecord | undefined {
    return this.#servers.get(name);
  }

  require(name: string): ServerRecord {
    const record = this.#servers.get(name);
    if (record) return record;
    throw new GatewayError('TOOL_ERR_SERVER_NOT_FOUND', `no server '${name}'; ${known(this.#servers.keys())}`);
  }

  list(): ServerRecord[] {
    return [...this.#servers.values()];
  }

  set(name: string, config: ServerConfig, addedBy: string): void {
    const record: ServerRecord = { id: name, config, addedAt: Date.now(), addedBy };
    this.#servers.set(name, record);
    this.#store.put('server', record);
  }

  remove(name: string): boolean {
    this.#store.drop('server', name);
    return this.#servers.delete(name);
  }
}
