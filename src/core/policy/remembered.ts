/**
 * The tools that a person has allowed for the rest of a session, by server. The permission is for the server, not for its name: if
 * the config gives the name to another server while the gateway is down, the person is asked again.
 */

import { hashOf } from '../../lib/canonical-json.ts';

export type RememberedTools = Record<string, RememberedServer>;

interface RememberedServer {
  /** The hash of its config. */
  config: string;
  tools: string[];
}

export interface RememberingParts {
  /** The tools remembered before a restart. */
  stored: RememberedTools | undefined;
  configOf: (server: string) => object | undefined;
  /** Called when the remembered tools must be stored. */
  changed: () => void;
}

export class Remembered {
  readonly #servers: Map<string, RememberedServer>;
  readonly #parts: RememberingParts;

  constructor(parts: RememberingParts) {
    this.#parts = parts;
    // Earlier versions stored tools without their server.
    const known = Object.entries(parts.stored ?? {}).filter(([, server]) => Array.isArray(server.tools));
    this.#servers = new Map(known);
  }

  has(server: string, tool: string): boolean {
    const known = this.#servers.get(server);
    return known !== undefined && known.tools.includes(tool) && known.config === this.#hashOf(server);
  }

  add(server: string, tool: string): void {
    const config = this.#hashOf(server);
    if (config === undefined) return;
    const known = this.#servers.get(server);
    const tools = known?.config === config ? known.tools.filter((each) => each !== tool) : [];
    this.#servers.set(server, { config, tools: [...tools, tool] });
    this.#parts.changed();
  }

  /** Another server may get the name. */
  forget(server: string): void {
    if (this.#servers.delete(server)) this.#parts.changed();
  }

  get record(): RememberedTools {
    return Object.fromEntries(this.#servers);
  }

  #hashOf(server: string): string | undefined {
    const config = this.#parts.configOf(server);
    return config && hashOf(config);
  }
}
