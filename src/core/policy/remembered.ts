/** The tools that a person has allowed for the rest of a session, by server. */

export type RememberedTools = Record<string, string[]>;

export class Remembered {
  readonly #tools = new Map<string, Set<string>>();
  readonly #changed: () => void;

  /** `changed`: what is remembered has to be stored. */
  constructor(stored: RememberedTools | undefined, changed: () => void) {
    for (const [server, tools] of Object.entries(stored ?? {})) this.#tools.set(server, new Set(tools));
    this.#changed = changed;
  }

  has(server: string, tool: string): boolean {
    return this.#tools.get(server)?.has(tool) === true;
  }

  add(server: string, tool: string): void {
    const tools = this.#tools.get(server) ?? new Set();
    this.#tools.set(server, tools.add(tool));
    this.#changed();
  }

  /** Another server may get the name. */
  forget(server: string): void {
    if (this.#tools.delete(server)) this.#changed();
  }

  get record(): RememberedTools {
    return Object.fromEntries([...this.#tools].map(([server, tools]) => [server, [...tools]]));
  }
}
