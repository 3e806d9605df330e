import { readAllPages } from '../lib/pages.ts';
import { isObject } from '../lib/values.ts';
import { headerDeclarations, type HeaderDeclaration } from './transport/param-headers.ts';

export type TaskSupport = 'forbidden' | 'optional' | 'required';

interface Facts {
  taskSupport: TaskSupport;
  headers: HeaderDeclaration[];
}

const UNKNOWN: Facts = { taskSupport: 'forbidden', headers: [] };

/** A client that reads the list page by page lets a server name tools without end. */
const MAX_TOOLS = 10_000;
const MAX_NAME = 1024;

type Ask = (params: { cursor?: string }) => Promise<Record<string, unknown>>;

/** What a server's list of tools says about how its tools are to be called; until the list changes. */
export class ToolFacts {
  readonly #known = new Map<string, Facts>();
  #reading: Promise<void> | undefined;

  /** What is known without asking. */
  known(tool: string): Facts {
    return this.#known.get(tool) ?? UNKNOWN;
  }

  /** Has the whole list read, once; whoever reads a page lets us learn from it. */
  async all(ask: Ask): Promise<void> {
    const reading = (this.#reading ??= readAllPages(ask, 'tools/list', 'tools').then(() => {}));
    // One that failed says nothing about the next.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading;
  }

  /** Somebody read a page of the list. */
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
