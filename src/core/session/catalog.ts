import type { Clock } from '../../lib/clock.ts';
import { readAllPages, type ListItem } from '../../lib/pages.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { timeoutSignal } from '../../lib/timers.ts';
import { isObject } from '../../lib/values.ts';
import type { Budget } from '../budget.ts';
import { GatewayError } from '../errors.ts';
import type { Connection } from '../ports/connection.ts';

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

/** Hub tools do not accept longer ids, so entries with longer ones would be unusable. */
const MAX_ID = { name: 256, uri: 8192, uriTemplate: 8192 };

export type ListName = keyof typeof LISTS;

/** How often the tool list is read for a rule decision while it keeps changing. */
const MOST_READINGS = 5;

/** Entries whose id is missing or too long are skipped. */
function isNamed(item: unknown, id: keyof typeof MAX_ID): boolean {
  const value = isObject(item) ? item[id] : undefined;
  return typeof value === 'string' && value.length <= MAX_ID[id];
}

/**
 * The lists of one connection. A list is cached only if the server announces changes (`listChanged`); otherwise each
 * reading asks the server.
 */
export class Catalog {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  readonly #budget: Budget;
  readonly #clock: Clock;
  /** The annotations by tool name; read when a rule first needs them. */
  #annotations: ReadonlyMap<string, unknown> | undefined;
  /** How often the tool list was found outdated. */
  #toolsChanged = 0;
  readonly #kept = new Map<ListName, { reading: Promise<ListItem[]>; items?: ListItem[]; bytes: number }>();

  constructor(connection: Connection, timeoutMs: number, budget: Budget, clock: Clock) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
    this.#budget = budget;
    this.#clock = clock;
  }

  async list(name: ListName): Promise<ListItem[]> {
    const info = await this.#connection.ready();
    const { capability } = LISTS[name];
    const offered = info.capabilities[capability];
    if (typeof offered !== 'object' || offered === null) return [];
    const kept = this.#kept.get(name);
    if (kept) return kept.reading;
    const reading = this.#readAllPages(name);
    if ('listChanged' in offered && offered.listChanged === true) this.#keep(name, reading);
    return reading;
  }

  /** The cached list, if it is up to date. */
  kept(name: ListName): ListItem[] | undefined {
    return this.#kept.get(name)?.items;
  }

  /** The annotations of a tool, `undefined` if it has none; a promise if the list of tools has to be read first. */
  annotationsOf(tool: string): unknown {
    const known = this.#annotations;
    return known?.has(tool) ? known.get(tool) : this.#readAnnotations(tool);
  }

  /** Reads again if the server changed the list meanwhile. */
  async #readAnnotations(tool: string): Promise<unknown> {
    for (let reading = 1; reading <= MOST_READINGS; reading += 1) {
      const changed = this.#toolsChanged;
      const tools = await this.list('tools');
      if (changed !== this.#toolsChanged) continue;
      const read = new Map(tools.map((each) => [String(each['name']), each['annotations']]));
      this.#annotations = read;
      return read.get(tool);
    }
    throw new GatewayError(
      'TOOL_ERR_SERVER_UNREACHABLE',
      'the server keeps changing its list of tools; try again later',
    );
  }

  /** Concurrent callers share one read; the list is cached only if there is room. */
  #keep(name: ListName, reading: Promise<ListItem[]>): void {
    const entry: { reading: Promise<ListItem[]>; items?: ListItem[]; bytes: number } = { reading, bytes: 0 };
    this.#kept.set(name, entry);
    const settle = (items: ListItem[] | undefined): void => {
      if (this.#kept.get(name) !== entry) return;
      const bytes = roughSize(items, Infinity);
      if (items !== undefined && this.#budget.take(bytes)) Object.assign(entry, { items, bytes });
      else this.#kept.delete(name);
    };
    reading.then(settle, () => settle(undefined));
  }

  clear(): void {
    this.#forgetAnnotations();
    for (const name of this.#kept.keys()) this.#forget(name);
  }

  #forget(name: ListName): void {
    if (name === 'tools') this.#forgetAnnotations();
    this.#budget.give(this.#kept.get(name)?.bytes ?? 0);
    this.#kept.delete(name);
  }

  #forgetAnnotations(): void {
    this.#annotations = undefined;
    this.#toolsChanged += 1;
  }

  /** Drops the list that a `…/list_changed` notification refers to. */
  onNotification(method: string): void {
    for (const name of Object.keys(LISTS) as ListName[]) {
      if (method === `notifications/${LISTS[name].capability}/list_changed`) this.#forget(name);
    }
  }

  /** Reads all lists again; returns which could be read. */
  async refresh(): Promise<Record<ListName, boolean>> {
    this.clear();
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
    const { signal, cancel } = timeoutSignal(this.#timeoutMs, this.#clock);
    const ask = async (params: { cursor?: string }): Promise<Record<string, unknown>> =>
      this.#connection.request(method, params, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        throw new GatewayError('TOOL_ERR_TIMEOUT', `the server did not answer ${method} within ${this.#timeoutMs} ms`);
      });
    const items = await readAllPages(ask, method, key).finally(cancel);
    return items.filter((item) => isNamed(item, id));
  }
}
