import { readAllPages, type ListItem } from '../../lib/pages.ts';
import { GatewayError } from '../errors.ts';
import type { Connection } from '../ports.ts';

/** The lists a server offers; each is read through all its pages. */
export const LISTS = {
  tools: { method: 'tools/list', key: 'tools', capability: 'tools', id: 'name' },
  resources: { method: 'resources/list', key: 'resources', capability: 'resources', id: 'uri' },
  templates: {
    method: 'resources/templates/list',
    key: 'resourceTemplates',
    capability: 'resources',
    id: 'uriTemplate',
  },
  prompts: { method: 'prompts/list', key: 'prompts', capability: 'prompts', id: 'name' },
} as const;

/** No tool of the hub takes a longer one, so such an entry could not be used. */
const MAX_ID = { name: 256, uri: 8192, uriTemplate: 8192 };

export type ListName = keyof typeof LISTS;

/** Entries whose name or address is missing or too long are left out. */
function isNamed(item: ListItem, id: keyof typeof MAX_ID): boolean {
  const value = item[id];
  return typeof value === 'string' && value.length <= MAX_ID[id];
}

/**
 * The lists of one connection. A list is kept only while the server promises to tell when it changes; otherwise each
 * reading asks the server.
 */
export class Catalog {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  readonly #kept = new Map<ListName, Promise<ListItem[]>>();

  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
  }

  async list(name: ListName): Promise<ListItem[]> {
    const info = await this.#connection.ready();
    const { capability } = LISTS[name];
    const offered = info.capabilities[capability];
    if (typeof offered !== 'object' || offered === null) return [];
    const kept = this.#kept.get(name);
    if (kept) return kept;
    const reading = this.#readAllPages(name);
    if ('listChanged' in offered && offered.listChanged === true) {
      this.#kept.set(name, reading);
      reading.catch(() => this.#kept.delete(name));
    }
    return reading;
  }

  /** Forgets what a `…/list_changed` notification says is out of date. */
  onNotification(method: string): void {
    for (const name of Object.keys(LISTS) as ListName[]) {
      if (method === `notifications/${LISTS[name].capability}/list_changed`) this.#kept.delete(name);
    }
  }

  /** Reads everything anew; tells which lists could be read. */
  async refresh(): Promise<Record<ListName, boolean>> {
    this.#kept.clear();
    const names = Object.keys(LISTS) as ListName[];
    const read = await Promise.all(
      names.map((name) =>
        this.list(name).then(
          () => true,
          () => false,
        ),
      ),
    );
    return Object.fromEntries(names.map((name, index) => [name, read[index] === true])) as Record<ListName, boolean>;
  }

  async #readAllPages(name: ListName): Promise<ListItem[]> {
    const { method, key, id } = LISTS[name];
    const tooLate = AbortSignal.timeout(this.#timeoutMs);
    const ask = async (params: { cursor?: string }): Promise<Record<string, unknown>> =>
      this.#connection.request(method, params, tooLate).catch((error: unknown) => {
        if (!tooLate.aborted) throw error;
        throw new GatewayError('TOOL_ERR_TIMEOUT', `the server did not answer ${method} within ${this.#timeoutMs} ms`);
      });
    const items = await readAllPages(ask, method, key);
    return items.filter((item) => isNamed(item, id));
  }
}
