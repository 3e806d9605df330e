import type { TaskClient } from '../../client/task-client.ts';
import { clean } from '../../lib/clean.ts';

const KEPT_LINES = 10;
const KEPT_CHARS = 300;

/** What a server process prints besides its messages. */
export class ServerOutput {
  #stderr: string[] = [];
  #firstStray: string | undefined;
  #strayLines = 0;

  constructor(client: TaskClient) {
    client.addEventListener('log', ({ detail: { source, data } }) => {
      const line = clean(data).trimEnd().slice(0, KEPT_CHARS);
      if (source === 'stderr') this.#stderr = [...this.#stderr, line].slice(-KEPT_LINES);
      if (source !== 'stdout') return;
      this.#firstStray ??= line;
      this.#strayLines += 1;
    });
  }

  /** The last lines on standard error; none if `text` contains them. */
  lastLines(text = ''): string[] {
    const lines = this.#stderr.filter((line) => line !== '');
    return lines.every((line) => text.includes(line.trim())) ? [] : lines;
  }

  /** Text on standard output that is not a protocol message. */
  get stray(): { first: string; more: number } | undefined {
    return this.#firstStray === undefined ? undefined : { first: this.#firstStray, more: this.#strayLines - 1 };
  }
}
