import { readAllPages } from '../lib/pages.ts';
import { isObject } from '../lib/values.ts';

export type TaskSupport = 'forbidden' | 'optional' | 'required';

type Ask = (params: { cursor?: string }) => Promise<Record<string, unknown>>;

/** Which tools of a server run as tasks, as its list of tools says; read once, and again when the list changed. */
export class ToolTaskSupport {
  #known: Promise<Map<string, TaskSupport>> | undefined;

  async of(tool: string, ask: Ask): Promise<TaskSupport> {
    const reading = (this.#known ??= read(ask));
    // One that failed says nothing about the next.
    reading.catch(() => {
      if (this.#known === reading) this.forget();
    });
    return (await reading).get(tool) ?? 'forbidden';
  }

  forget(): void {
    this.#known = undefined;
  }
}

async function read(ask: Ask): Promise<Map<string, TaskSupport>> {
  const tools = await readAllPages(ask, 'tools/list', 'tools');
  return new Map(tools.map(({ name, execution }) => [String(name), supportIn(execution)]));
}

function supportIn(execution: unknown): TaskSupport {
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}
