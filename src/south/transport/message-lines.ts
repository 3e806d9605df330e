/** Cuts a stream of bytes into lines, however they arrive; one line may be so long and no longer. */
export class MessageLines {
  #rest: Buffer[] = [];
  #size = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that this piece completes. Throws when one grows too long. */
  append(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      lines.push(Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString('utf8'));
      this.clear();
      from = end + 1;
    }
    this.#rest.push(chunk.subarray(from));
    this.#size += chunk.length - from;
    if (this.#size > this.#limit) throw new Error(`a message is longer than ${this.#limit} bytes`);
    return lines;
  }

  clear(): void {
    this.#rest = [];
    this.#size = 0;
  }
}
