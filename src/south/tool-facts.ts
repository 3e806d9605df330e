import { readAllPages } from '../lib/pages.ts';
import { isObject } from '../lib/values.ts';
import { headerDeclarations, type HeaderDeclaration } from './transport/param-headers.ts';
import { LazyMap } from '../lib/lazy-collections.ts';

export type TaskSupport = 'forbidden' | 'optional' | 'required';

interface Facts {
  taskSupport: TaskSupport;
  headers: HeaderDeclaration[];
}

const UNKNOWN: Facts = { taskSupport: 'forbidden', headers: [] };

/** A server may list tools endlessly. */
const MAX_TOOLS = 10_000;
const MAX_NAME = 1024;

type Ask = (params: { cursor?: string }) => Promise<Record<string, unknown>>;

/** How to call each tool, according to the tool list; cached until the list changes. */
export class ToolFacts {
  readonly #known = new LazyMap<string, Facts>();
  #reading: Promise<void> | undefined;

  /** Without a request. */
  known(tool: string): Facts {
    return this.#known.get(tool) ?? UNKNOWN;
  }

  /** Reads the whole list, once. */
  async all(ask: Ask): Promise<void> {
    const reading = (this.#reading ??= readAllPages(ask, 'tools/list', 'tools').then(() => {}));
    // The next attempt may succeed.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading;
  }

  /** Uses a page of the list that was read for another purpose. */
  learn(tools: unknown): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools) {
      if (!isObject(tool)) continue;
      const name = String(tool['name']);
      const taskSupport = supportIn(tool['execution']);
      const headers = headerDeclarations(tool['inputSchema']);
      const isPlain = taskSupport === UNKNOWN.taskSupport && headers.length === 0;
      if (isPlain) this.#known.delete(name);
      else if (name.length <= MAX_NAME && this.#known.size < MAX_TOOLS) this.#known.set(name, { taskSupport, headers });
    }
  }

  forget(): void {
    this.#known.clear();
    this.#reading = undefined;
  }
}

function supportIn(execution: unknown): TaskSupport {
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}
