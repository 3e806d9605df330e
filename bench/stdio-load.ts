/** The load on a program that is called over its standard input and output. */
import type { Child } from './child.ts';
import { GREETING, PreparedCalls, type Load, type Target } from './load.ts';

export class StdioLoad implements Load {
  readonly #child: Child;
  readonly #target: Target;
  readonly #calls: PreparedCalls;
  readonly #waiting = new Map<string, (line: string) => void>();

  constructor(child: Child, target: Target) {
    this.#child = child;
    this.#target = target;
    this.#calls = new PreparedCalls(target);
    let rest = '';
    child.pipes.stdout.setEncoding('latin1').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#receive(line);
    });
  }

  async open(): Promise<void> {
    if (this.#target.era === 'modern') return;
    for (const message of GREETING) {
      const text = JSON.stringify({ jsonrpc: '2.0', ...message });
      if (message.id === undefined) this.#child.pipes.stdin.write(`${text}\n`);
      else await this.#request(`"${message.id}"`, text);
    }
  }

  async call(): Promise<void> {
    const { id, text } = this.#calls.next();
    const line = await this.#request(String(id), text);
    if (!this.#calls.isAnswer(line, id)) throw new Error(`wrong answer on stdio: ${line.slice(0, 1000)}`);
  }

  close(): void {
    this.#child.pipes.stdin.end();
  }

  async #request(id: string, text: string): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.pipes.stdin.write(`${text}\n`);
    });
  }

  #receive(line: string): void {
    const id = /"id":("[^"]*"|\d+)/.exec(line)?.[1] ?? '';
    this.#waiting.get(id)?.(line);
    this.#waiting.delete(id);
  }
}
