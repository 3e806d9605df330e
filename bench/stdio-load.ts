/** The load on a server that is a program, with nothing between it and its client. */
import { createInterface } from 'node:readline';
import type { Child } from './child.ts';
import { asCall, GREETING, TEXT, type Era, type Load } from './load.ts';

export class StdioLoad implements Load {
  readonly #child: Child;
  readonly #era: Era;
  readonly #waiting = new Map<unknown, (line: string) => void>();
  #id = 0;

  constructor(child: Child, era: Era) {
    this.#child = child;
    this.#era = era;
    createInterface({ input: child.pipes.stdout }).on('line', (line) => {
      const { id } = JSON.parse(line) as { id: unknown };
      this.#waiting.get(id)?.(line);
      this.#waiting.delete(id);
    });
  }

  async open(): Promise<void> {
    if (this.#era === 'modern') return;
    for (const message of GREETING) await this.#send(message);
  }

  async call(): Promise<void> {
    this.#id += 1;
    const line = await this.#send(asCall(this.#id, { name: 'echo', arguments: { text: TEXT } }, this.#era));
    if (!line?.includes(TEXT)) throw new Error(`wrong answer from the server: ${line}`);
  }

  close(): void {
    this.#child.pipes.stdin.end();
  }

  /** Resolves with the answer, if it is a request. */
  async #send(message: object): Promise<string | undefined> {
    const line = `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
    if (!('id' in message)) {
      this.#child.pipes.stdin.write(line);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.set(message.id, resolve);
      this.#child.pipes.stdin.write(line);
    });
  }
}
